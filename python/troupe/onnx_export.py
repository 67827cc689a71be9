"""Writes a model file of Troupe as ONNX, for programs that run such graphs.

    /usr/bin/python3 python/troupe/onnx_export.py MODEL.safetensors MODEL.onnx     (python3-onnx)

From Python: `troupe.export_onnx("model.safetensors", "model.onnx")`. The graph reads `features` [rows, F], as
the model file names them: gaps (NaN), standardisation and everything behind are in the graph, cells of a CSV
file are not. It gives `predictions` [rows, Q] as `troupe predict` has them, and for a classifier `labels`
[rows], numbers of classes. Metadata of the file go along. Opset 17, float32: the last digits are those of
whoever runs it.
"""

import json
import math
import re
import sys

OPSET = 17
LINK_HALF = {"arctan", "probit", "tanh", "algebraic", "softsign"}  # (1 + f(z)) / 2


def load(path):
    """Tensors by name, as arrays of float32, and metadata."""
    import numpy

    with open(path, "rb") as file:
        content = file.read()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        tensors[name] = numpy.frombuffer(content[start + first:start + last], "<f4").reshape(entry["shape"])
    return tensors, metadata


def floats(text):
    """Floats from their bits: "3f800000 40000000" is [1, 2]."""
    import numpy

    return numpy.array([int(bits, 16) for bits in text.split()], numpy.uint32).view(numpy.float32)


def layers_of(text):
    """[(kind, options, inner or None), ..] of the one form that model files have."""
    tokens = re.findall(r'"[^"]*"|\[[^\]]*\]|[{};=]|[^\s{};=]+', text)

    def value(word):
        if word in ("true", "false"):
            return word == "true"
        return json.loads(word)

    def read(i):
        items = []
        while i < len(tokens) and tokens[i] != "}":
            if tokens[i] == ";":
                i += 1
                continue
            kind, options, inner = tokens[i], {}, None
            i += 1
            while i + 1 < len(tokens) and tokens[i + 1] == "=":
                options[tokens[i]] = value(tokens[i + 2])
                i += 3
            if i < len(tokens) and tokens[i] == "{":
                inner, i = read(i + 1)
                i += 1
            items.append((kind, options, inner))
        return items, i

    return read(0)[0]


class Graph:
    """Nodes and constants of a graph, one behind the other; `x` is what came last, of rows of `shape`."""

    def __init__(self, shape):
        self.nodes, self.constants, self.shape, self.x = [], [], shape, "features"

    def constant(self, values, kind="float32"):
        import numpy
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        values = numpy.asarray(values, kind)
        self.constants.append(numpy_helper.from_array(values.copy(), name))
        return name

    def node(self, operator, *inputs, outputs=1, **options):
        import onnx

        names = [f"{operator.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(onnx.helper.make_node(operator, list(inputs), names, **options))
        return names if outputs > 1 else names[0]

    def then(self, operator, *others, **options):
        self.x = self.node(operator, self.x, *others, **options)
        return self.x

    def reshape(self, shape):
        self.then("Reshape", self.constant([-1, *shape], "int64"))

    def add(self, values):
        self.then("Add", self.constant(values))

    def times(self, factor):
        self.then("Mul", self.constant(factor))

    def activate(self, name):
        x = self.x
        simple = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "elu": "Elu", "softplus": "Softplus"}
        if name in simple:
            self.then(simple[name])
        elif name == "leaky-relu":
            self.then("LeakyRelu", alpha=0.01)
        elif name == "silu":
            self.x = self.node("Mul", x, self.node("Sigmoid", x))
        elif name == "gelu":
            self.times(1 / math.sqrt(2))
            self.then("Erf")
            self.add(1.0)
            self.times(0.5)
            self.x = self.node("Mul", x, self.x)
        elif name != "identity":
            raise ValueError(f"no activation {name!r} is known here")

    def product(self, weight, bias=None):
        """x W^T + b over the last extent."""
        self.then("MatMul", self.constant(weight.T))
        if bias is not None:
            self.add(bias)


class Layers:
    """The layers of a chain (docs/layers.md), with the tensors of the file."""

    def __init__(self, graph, tensors):
        self.graph, self.tensors, self.number = graph, tensors, 0

    def tensor(self, name):
        return self.tensors.get(f"layers.{self.number}.{name}")

    def add(self, items):
        for kind, options, inner in items:
            if kind == "block":
                for _ in range(options["repeat"]):
                    self.add(inner)
                continue
            if kind == "residual":
                before = self.graph.x
                self.add(inner)
                self.graph.then("Add", before)
            else:
                make = getattr(self, kind.replace("-", "_"), None)
                if make is None or kind.startswith("_"):
                    raise ValueError(f"no layer {kind!r} is known here")
                make(**{name: value for name, value in options.items()
                        if name not in ("initialization", "version")})
            self.number += 1

    def dense(self, units, activation="identity", bias=True, flatten=False):
        graph = self.graph
        by_position = len(graph.shape) == 2 and not flatten
        if not by_position and len(graph.shape) > 1:
            graph.reshape([math.prod(graph.shape)])
        graph.product(self.tensor("weight"), self.tensor("bias") if bias else None)
        graph.activate(activation)
        graph.shape = [graph.shape[0], units] if by_position else [units]

    def activation(self, function):
        self.graph.activate(function)

    def scale(self, factor, offset):
        self.graph.times(factor)
        self.graph.add(offset)

    def dropout(self, rate):
        del rate  # in training alone

    def convolution(self, channels, kernel, stride, padding, activation, bias):
        graph = self.graph
        pads, out = [], []
        for extent, size in zip(graph.shape, kernel):
            places = -(-extent // stride) if padding == "same" else (extent - size) // stride + 1
            total = max((places - 1) * stride + size - extent, 0) if padding == "same" else 0
            pads.append((total // 2, total - total // 2))
            out.append(places)
        inputs = [graph.constant(self.tensor("weight").transpose(0, 3, 1, 2))]
        if bias:
            inputs.append(graph.constant(self.tensor("bias")))
        graph.then("Transpose", perm=[0, 3, 1, 2])
        graph.then("Conv", *inputs, strides=[stride, stride], kernel_shape=list(kernel),
                   pads=[pads[0][0], pads[1][0], pads[0][1], pads[1][1]])
        graph.then("Transpose", perm=[0, 2, 3, 1])
        graph.activate(activation)
        graph.shape = [*out, channels]

    def pool(self, over, size, stride):
        graph = self.graph
        *places, width = graph.shape
        axes = list(range(1, len(places) + 1))
        if size == 0 and over != "last":
            graph.then("ReduceMax" if over == "max" else "ReduceMean", axes=axes, keepdims=0)
            graph.shape = [width]
            return
        sizes = [size or extent for extent in places]
        step = [stride or one for one in sizes]
        out = [(extent - one) // by + 1 for extent, one, by in zip(places, sizes, step)]
        if over == "last":
            graph.then("Slice", graph.constant([one - 1 for one in sizes], "int64"),
                       graph.constant(places, "int64"), graph.constant(axes, "int64"),
                       graph.constant(step, "int64"))
        else:
            flat = len(places) == 1
            if flat:
                graph.reshape([places[0], 1, width])
                sizes, step = [*sizes, 1], [*step, 1]
            graph.then("Transpose", perm=[0, 3, 1, 2])
            graph.then("MaxPool" if over == "max" else "AveragePool", kernel_shape=sizes, strides=step)
            graph.then("Transpose", perm=[0, 2, 3, 1])
        graph.shape = [*out, width] if size else [width]
        graph.reshape(graph.shape)

    def embedding(self, categories, width, scale):
        del scale
        graph = self.graph
        if len(graph.shape) > 1:
            graph.reshape([math.prod(graph.shape)])
        x = graph.x
        whole = graph.node("Cast", x, to=7)  # int64
        holds = graph.node("Equal", graph.node("Cast", whole, to=1), x)
        for operator, bound in (("GreaterOrEqual", 0.0), ("Less", float(categories))):
            holds = graph.node("And", holds, graph.node(operator, x, graph.constant(bound)))
        row = graph.node("Where", holds, whole, graph.constant(categories, "int64"))
        graph.x = graph.node("Gather", graph.constant(self.tensor("weight")), row)
        graph.shape = [math.prod(graph.shape), width]

    def positions(self, scale):
        del scale
        self.graph.add(self.tensor("weight"))

    def layer_norm(self, epsilon):
        graph = self.graph
        graph.then("LayerNormalization", graph.constant(self.tensor("weight")),
                   graph.constant(self.tensor("bias")), axis=-1, epsilon=epsilon)

    def attention(self, heads, causal):
        import numpy

        graph = self.graph
        length, width = graph.shape
        graph.product(self.tensor("in.weight"), self.tensor("in.bias"))
        parts = graph.node("Split", graph.x, outputs=3, axis=2)
        by_head = []
        for part in parts:
            graph.x = part
            graph.reshape([length, heads, width // heads])
            by_head.append(graph.x)
        query, value = (graph.node("Transpose", by_head[i], perm=[0, 2, 1, 3]) for i in (0, 2))
        key = graph.node("Transpose", by_head[1], perm=[0, 2, 3, 1])
        graph.x = query
        graph.times(1 / math.sqrt(width // heads))
        graph.then("MatMul", key)
        if causal:
            graph.add(numpy.triu(numpy.full([length, length], -numpy.inf), 1))
        graph.then("Softmax", axis=-1)
        graph.then("MatMul", value)
        graph.then("Transpose", perm=[0, 2, 1, 3])
        graph.reshape([length, width])
        graph.product(self.tensor("out.weight"), self.tensor("out.bias"))


def add_network(graph, tensors, metadata):
    names = metadata["activation"].split()
    count = sum(name.endswith(".weight") for name in tensors)
    for layer in range(count):
        graph.product(tensors[f"layers.{layer}.weight"], tensors.get(f"layers.{layer}.bias"))
        if layer + 1 < count:
            graph.activate(names[layer % len(names)])


def add_chain(graph, tensors, metadata, outputs):
    options = json.loads(metadata["options"])
    shape = options["shape"] or graph.shape
    graph.shape = list(shape)
    if len(shape) > 1:
        graph.reshape(shape)
    layers = Layers(graph, tensors)
    layers.add(layers_of(options["layers"]))
    if options["head"]:
        layers.dense(outputs, flatten=True)
    elif len(graph.shape) > 1:
        graph.reshape([math.prod(graph.shape)])


def add_link(graph, link):
    """One score becomes the probability of the second class."""
    if link == "sigmoid":
        graph.then("Sigmoid")
    elif link == "gudermannian":
        graph.times(math.pi / 2)
        graph.then("Exp")
        graph.then("Atan")
        graph.times(2 / math.pi)
    elif link in LINK_HALF:
        z = graph.x
        if link == "arctan":
            graph.times(math.pi / 2)
            graph.then("Atan")
            graph.times(2 / math.pi)
        elif link == "probit":
            graph.times(1 / math.sqrt(2))
            graph.then("Erf")
        elif link == "algebraic":
            graph.then("Mul", z)
            graph.add(1.0)
            graph.then("Sqrt")
            graph.x = graph.node("Div", z, graph.x)
        else:
            graph.then("Tanh" if link == "tanh" else "Softsign")
        graph.add(1.0)
        graph.times(0.5)
    else:
        raise ValueError(f"no link {link!r} is known here")


def add_predictions(graph, metadata):
    loss = metadata["loss"]
    if loss == "categorical-cross-entropy":
        graph.then("Softmax", axis=1)
    elif loss == "binary-cross-entropy":
        add_link(graph, metadata.get("link", "sigmoid"))
        graph.x = graph.node("Concat", graph.node("Sub", graph.constant(1.0), graph.x), graph.x, axis=1)
    elif loss in ("hinge", "squared-hinge"):
        graph.x = graph.node("Concat", graph.node("Neg", graph.x), graph.x, axis=1)
    elif loss in ("poisson", "gamma"):
        graph.then("Exp")
    if "target_scale" in metadata:
        add_target_scale(graph, metadata)


def add_target_scale(graph, metadata):
    """Scores become targets in their own unit."""
    scale = metadata["target_scale"]
    graph.times(floats(metadata["target_deviation"]))
    graph.add(floats(metadata["target_mean"]))
    if scale in ("log", "log1p"):
        graph.then("Exp")
    if scale == "log1p":
        graph.add(-1.0)
    if scale == "asinh":
        graph.then("Sinh")


def export_onnx(model_file, onnx_file):
    """Writes the model of `model_file` to `onnx_file`. Raises ValueError for what has no graph here: models
    of sparse rows, and kinds or layers of an application."""
    import onnx
    from onnx import TensorProto, helper

    tensors, metadata = load(model_file)
    if "added" in metadata:
        raise ValueError(f"{model_file}: a loss or an activation that an application adds has no ONNX graph here")
    if metadata.get("rows") == "sparse":
        raise ValueError(f"{model_file}: a model of sparse rows has no ONNX graph")
    known = metadata.get("kind") in ("neural-network", "linear-regression", "logistic-regression",
                                     "softmax-regression")
    if not known and metadata.get("kind") != "chain":
        raise ValueError(f"{model_file}: a model of kind {metadata.get('kind')!r} has no ONNX graph here")
    features = len(json.loads(metadata["features"]))
    classes = json.loads(metadata.get("classes", "[]"))
    is_binary = metadata["loss"] in ("binary-cross-entropy", "hinge", "squared-hinge")
    outputs = 1 if is_binary else len(classes or json.loads(metadata["target"]))
    graph = Graph([features])
    if "feature_fill" in metadata:
        graph.x = graph.node("Where", graph.node("IsNaN", graph.x),
                             graph.constant(floats(metadata["feature_fill"])), graph.x)
    if "feature_mean" in metadata:
        graph.then("Sub", graph.constant(floats(metadata["feature_mean"])))
        graph.then("Div", graph.constant(floats(metadata["feature_deviation"])))
    if known:
        add_network(graph, tensors, metadata)
    else:
        add_chain(graph, tensors, metadata, outputs)
    add_predictions(graph, metadata)
    graph.nodes.append(helper.make_node("Identity", [graph.x], ["predictions"]))
    made = [helper.make_tensor_value_info("predictions", TensorProto.FLOAT,
                                          ["rows", 2 if is_binary else outputs])]
    if classes:
        graph.nodes.append(helper.make_node("ArgMax", ["predictions"], ["labels"], axis=1, keepdims=0))
        made.append(helper.make_tensor_value_info("labels", TensorProto.INT64, ["rows"]))
    read = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["rows", features])
    model = helper.make_model(helper.make_graph(graph.nodes, "troupe", [read], made, graph.constants),
                              producer_name="troupe", opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 8
    for key in ("features", "target", "classes", "job_sha256"):
        if key in metadata:
            model.metadata_props.add(key=key, value=metadata[key])
    onnx.checker.check_model(model, full_check=True)
    with open(onnx_file, "wb") as file:
        file.write(model.SerializeToString())


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: onnx_export.py MODEL.safetensors MODEL.onnx")
    try:
        export_onnx(*sys.argv[1:])
    except ImportError as problem:
        sys.exit(f"{problem}: install python3-onnx and python3-numpy, and use Debian's /usr/bin/python3")
    except (OSError, ValueError, KeyError) as problem:
        sys.exit(f"onnx_export: {problem}")


if __name__ == "__main__":
    main()
