"""Model files become ONNX graphs, and a reader that knows nothing of Troupe predicts the same from them.

    /usr/bin/python3 tests/scripts/python/onnx_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

The reader is the few lines of NumPy below, by the definitions of ONNX's operators.
"""

import csv
import gzip
import json
import math
import sys

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest, finished, main

EXPORT = SOURCE / "python" / "troupe" / "onnx_export.py"
DIGITS = f'[data]\nfile = "{SOURCE}/examples/data/digits.csv.gz"\ntest_fraction = 0.2\nstandardize = true\n'
DIABETES = f'[data]\nfile = "{SOURCE}/examples/data/diabetes.csv"\nstandardize = true\n'
SHORT = "[training]\nbatch_size = 64\nepochs = 2\n"


# ---- A reader of graphs

def windows(x, kernel, strides, pads, fill):
    """[N, C, out height, out width, kernel height, kernel width] of x [N, C, H, W]."""
    top, left, bottom, right = pads
    x = numpy.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    view = numpy.lib.stride_tricks.sliding_window_view(x, tuple(kernel), axis=(2, 3))
    return view[:, :, ::strides[0], ::strides[1]]


def conv(x, weight, bias=None, strides=(1, 1), pads=(0, 0, 0, 0), kernel_shape=None):
    y = numpy.einsum("nchwij,ocij->nohw", windows(x, kernel_shape, strides, pads, 0.0), weight)
    return y if bias is None else y + bias[:, None, None]


def slice_of(x, starts, ends, axes, steps):
    for start, end, axis, step in zip(starts, ends, axes, steps):
        x = x.take(range(x.shape[axis])[start:end:step], axis)
    return x


def normalised(x, weight, bias, axis, epsilon):
    assert axis == -1
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + epsilon) * weight + bias


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


ERF = numpy.vectorize(math.erf)
KINDS = {1: numpy.float32, 7: numpy.int64}
OPERATORS = {
    "Identity": lambda x: x, "Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "Div": numpy.divide,
    "MatMul": numpy.matmul, "Relu": lambda x: numpy.maximum(x, 0), "Tanh": numpy.tanh, "Exp": numpy.exp, "Sinh": numpy.sinh,
    "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)), "Atan": numpy.arctan, "Erf": ERF, "Sqrt": numpy.sqrt,
    "Neg": numpy.negative, "Softplus": lambda x: numpy.logaddexp(0, x), "Softsign": lambda x: x / (1 + abs(x)),
    "Elu": lambda x: numpy.where(x > 0, x, numpy.expm1(numpy.minimum(x, 0))),
    "LeakyRelu": lambda x, alpha: numpy.where(x > 0, x, alpha * x), "Softmax": softmax,
    "Reshape": lambda x, shape: x.reshape(shape), "Transpose": lambda x, perm: x.transpose(perm), "Conv": conv,
    "MaxPool": lambda x, kernel_shape, strides: windows(
        x, kernel_shape, strides, (0, 0, 0, 0), 0.0).max((4, 5)),
    "AveragePool": lambda x, kernel_shape, strides: windows(
        x, kernel_shape, strides, (0, 0, 0, 0), 0.0).mean((4, 5)),
    "ReduceMax": lambda x, axes, keepdims: x.max(tuple(axes)),
    "ReduceMean": lambda x, axes, keepdims: x.mean(tuple(axes)), "Slice": slice_of,
    "Cast": lambda x, to: x.astype(KINDS[to]), "Equal": numpy.equal, "And": numpy.logical_and,
    "GreaterOrEqual": numpy.greater_equal, "Less": numpy.less, "Where": numpy.where, "IsNaN": numpy.isnan,
    "Gather": lambda x, rows: x[rows], "LayerNormalization": normalised,
    "Split": lambda x, axis: numpy.split(x, 3, axis),
    "Concat": lambda *x, axis: numpy.concatenate(x, axis),
    "ArgMax": lambda x, axis, keepdims: x.argmax(axis),
}


def run_graph(model, features):
    values = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    values["features"] = features
    for node in model.graph.node:
        options = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        made = OPERATORS[node.op_type](*(values[name] for name in node.input), **options)
        values.update(zip(node.output, made if len(node.output) > 1 else [made]))
    return [values[one.name] for one in model.graph.output]


# ---- Models

class Onnx(CommandTest):
    def run_command(self, *words, code=0):
        return finished(*words, code=code, cwd=self.folder)

    def train(self, job, *sets):
        super().train(self.write("job.toml", job), "output.directory=run", *sets, more=["--overwrite"])

    def rows_of(self, data):
        text = gzip.open(data, "rt") if str(data).endswith(".gz") else open(data, encoding="utf-8")
        with text:
            rows = list(csv.reader(text))
        try:
            float(rows[0][0])
        except ValueError:
            rows = rows[1:]
        return rows[:50]

    def expect_same(self, job, data, *sets):
        """What `troupe predict` says of rows, the graph says."""
        self.train(job, *sets)
        self.run_command(sys.executable, EXPORT, "run/model.safetensors", "model.onnx")
        model = onnx.load(self.folder / "model.onnx")
        count = len(json.loads({one.key: one.value for one in model.metadata_props}["features"]))
        rows = [row[:count] for row in self.rows_of(data)]
        text = "\n".join(",".join(row) for row in rows) + "\n"
        names = json.loads({one.key: one.value for one in model.metadata_props}["features"])
        header = "" if names[0] == "0" else ",".join(names) + "\n"
        self.write("rows.csv", header + text)
        predictions, *labels = run_graph(model, numpy.array(rows, numpy.float32))
        more = ["--probabilities"] if labels else []
        told = self.troupe("predict", "run/model.safetensors", "rows.csv", *more)
        told = [line.split(",") for line in told.stdout.splitlines()[1:]]
        expected = numpy.array([row[len(more):] for row in told], float)
        numpy.testing.assert_allclose(predictions, expected, rtol=2e-4, atol=2e-5)
        if labels:
            classes = json.loads({one.key: one.value for one in model.metadata_props}["classes"])
            self.assertEqual([classes[label] for label in labels[0]], [row[0] for row in told])
        return model

    def test_networks(self):
        for activation in ("relu", "gelu", "elu", "silu", "leaky-relu", "softplus", "tanh", "sigmoid"):
            self.expect_same(DIGITS + f'[model]\nkind = "neural-network"\nhidden = [9, 7]\n'
                             f'activation = "{activation}"\n' + SHORT, SOURCE / "examples/data/digits.csv.gz")

    def test_regressions(self):
        data = SOURCE / "examples/data/diabetes.csv"
        for loss in ("squared", "poisson"):
            self.expect_same(DIABETES + f'[model]\nkind = "linear-regression"\nloss = "{loss}"\n'
                             "[optimizer]\nlearning_rate = 0.0001\n" + SHORT, data)
        for scale in ("standardize", "log", "log1p", "asinh"):
            self.expect_same(DIABETES + f'target_scale = "{scale}"\n[model]\nhidden = [8]\n' + SHORT, data)

    def test_two_classes_by_every_link(self):
        rows = self.rows_of(SOURCE / "examples/data/iris.csv")
        data = self.folder / "two.csv"
        table = [[*row[:-1], "first" if i % 3 else "second"] for i, row in enumerate(rows)]
        data.write_text("\n".join(",".join(row) for row in [["a", "b", "c", "d", "kind"], *table]) + "\n",
                        encoding="utf-8")
        base = f'[data]\nfile = "{data}"\nstandardize = true\n[model]\nkind = "logistic-regression"\n'
        for link in ("sigmoid", "tanh", "probit", "arctan", "gudermannian", "algebraic", "softsign"):
            self.expect_same(base + f'link = "{link}"\n' + SHORT, data)

    def test_chains(self):
        data = SOURCE / "examples/data/digits.csv.gz"
        chain = DIGITS + '[model]\nkind = "chain"\n'
        images = ('layers = "scale factor=0.5 offset=0.1; convolution channels=5 kernel=[3,2] padding=same stride=2 '
                  'activation=relu; POOL; residual { convolution channels=5 padding=same activation=gelu }; '
                  'dropout; dense units=8 activation=tanh"\n')
        for pool in ("pool size=2", "pool over=mean size=2 stride=1", "pool over=last size=2", "pool over=last",
                     "activation function=elu"):
            if pool == "pool over=last":
                self.expect_same(chain + "shape = [8, 8, 1]\n" + 'layers = "convolution channels=3; pool over=last"\n'
                                 + SHORT, data)
                continue
            self.expect_same(chain + "shape = [8, 8, 1]\n" + images.replace("POOL", pool) + SHORT, data)
        sequences = ('layers = "dense units=8; positions; block repeat=2 { residual { layer-norm; attention heads=2 '
                     'causal=true }; residual { layer-norm; dense units=12 activation=silu; dense units=8 } }; POOL"\n')
        for pool in ("pool over=last", "pool over=mean", "pool", "pool size=3 stride=2; layer-norm",
                     "dense units=5 flatten=true bias=false"):
            self.expect_same(chain + "shape = [8, 8]\n" + sequences.replace("POOL", pool) + SHORT, data)
        codes = chain.replace("standardize = true\n", "")
        self.expect_same(codes + 'layers = "embedding categories=9 width=4; positions; attention heads=1; '
                         'pool over=mean"\n' + SHORT, data)
        self.expect_same(chain + 'head = false\nlayers = "dense units=10"\n' + SHORT, data)

    def test_what_has_no_graph_is_refused(self):
        rows = "".join(f"{i % 2} 1:{i} 3:{i % 5}\n" for i in range(40))
        (self.folder / "rows.svm").write_text(rows, encoding="utf-8")
        self.train('[data]\nfile = "rows.svm"\ndense = false\n[model]\nkind = "softmax-regression"\n' + SHORT)
        run = self.run_command(sys.executable, EXPORT, "run/model.safetensors", "model.onnx", code=1)
        self.assertIn("sparse rows", run.stderr)
        self.assertFalse((self.folder / "model.onnx").exists())
        self.run_command(sys.executable, EXPORT, "nothing.safetensors", "model.onnx", code=1)
        self.run_command(sys.executable, EXPORT, code=1)


if __name__ == "__main__":
    main()
