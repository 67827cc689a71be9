"""Makes layers.json: gradients, predictions and a training of chains of layers, by PyTorch in double.

    /usr/bin/python3 tests/reference/layers.py          (needs python3-numpy, python3-torch)

Content: `cases`, each with its `name`, `shape` of a row, `layers` as a job has them, `features` (rows),
`labels`, `parameters` by tensor (name, shape, values; convolutions [out, height, width, in]), `loss_sum`
and `gradients` of the loss summed over the rows, `predictions`, and `losses`: mean losses of 20 steps of
gradient descent on all rows at `rate`, each before its step. Inputs and parameters are multiples of 1/256.
"""

from pathlib import Path

import compact_json
import torch
from torch.nn import functional

CLASSES = 3
STEPS = 20
RATE = 0.05
ACTIVATIONS = {"identity": lambda x: x, "relu": torch.relu, "tanh": torch.tanh,
               "gelu": functional.gelu, "silu": functional.silu}


def grid(count, first, scale):
    """Multiples of 1/256 that look arbitrary."""
    return [round(((first * i + 13 * (i // 7) + 17) % 127 - 63) * scale) / 256 for i in range(count)]


class Net:
    """Layers that ask for parameters as they come; the first walk makes them."""

    def __init__(self):
        self.tensors, self.made, self.step, self.next = [], False, 0, 0

    def begin(self):
        self.step = self.next = 0

    def end(self):
        self.made = True

    def parameter(self, name, shape, around=0.0):
        if not self.made:
            count = 1
            for extent in shape:
                count *= extent
            values = [around + value for value in grid(count, 31 + 8 * len(self.tensors), 1.3)]
            self.tensors.append((f"layers.{self.step}.{name}",
                                 torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()))
        self.next += 1
        return self.tensors[self.next - 1][1]

    def dense(self, x, units, activation="identity", flatten=False):
        if x.dim() != 3 or flatten:
            x = x.reshape(x.shape[0], -1)
        y = functional.linear(x, self.parameter("weight", [units, x.shape[-1]]),
                              self.parameter("bias", [units]))
        self.step += 1
        return ACTIVATIONS[activation](y)

    def convolution(self, x, channels, kernel, stride=1, same=False, activation="identity"):
        weight = self.parameter("weight", [channels, *kernel, x.shape[3]])
        bias = self.parameter("bias", [channels])
        planes = x.permute(0, 3, 1, 2)
        if same:
            pads = []
            for extent, size in zip((x.shape[2], x.shape[1]), (kernel[1], kernel[0])):
                covered = (-(-extent // stride) - 1) * stride + size
                total = max(covered - extent, 0)
                pads += [total // 2, total - total // 2]
            planes = functional.pad(planes, pads)
        y = functional.conv2d(planes, weight.permute(0, 3, 1, 2), bias, stride)
        self.step += 1
        return ACTIVATIONS[activation](y.permute(0, 2, 3, 1))

    def pool(self, x, over, size, stride):
        planes = x.permute(0, 3, 1, 2)
        how = functional.max_pool2d if over == "max" else functional.avg_pool2d
        self.step += 1
        return how(planes, size, stride).permute(0, 2, 3, 1)

    def embedding(self, x, categories, width):
        table = self.parameter("weight", [categories + 1, width])
        codes = x.long()
        codes[(x < 0) | (x >= categories) | (x != codes)] = categories
        self.step += 1
        return table[codes]

    def positions(self, x):
        y = x + self.parameter("weight", list(x.shape[1:]))
        self.step += 1
        return y

    def norm(self, x):
        y = functional.layer_norm(x, [x.shape[-1]], self.parameter("weight", [x.shape[-1]], 1.0),
                                  self.parameter("bias", [x.shape[-1]]), 1e-5)
        self.step += 1
        return y

    def attention(self, x, heads, causal):
        width, length = x.shape[-1], x.shape[1]
        module = torch.nn.MultiheadAttention(width, heads, batch_first=True, dtype=torch.float64)
        given = {"in_proj_weight": self.parameter("in.weight", [3 * width, width]),
                 "in_proj_bias": self.parameter("in.bias", [3 * width]),
                 "out_proj.weight": self.parameter("out.weight", [width, width]),
                 "out_proj.bias": self.parameter("out.bias", [width])}
        mask = torch.ones(length, length, dtype=torch.bool).triu(1) if causal else None
        y, _ = torch.nn.utils.stateless.functional_call(module, given, (x, x, x),
                                                        {"attn_mask": mask, "need_weights": False})
        self.step += 1
        return y

    def residual(self, x, inner):
        y = x + inner(x)
        self.step += 1
        return y


def images(net, x):
    x = net.convolution(x, 3, [3, 2], same=True, activation="relu")
    x = net.pool(x, "max", 2, 2)
    x = net.convolution(x, 4, [2, 2], activation="gelu")
    x = net.dense(x, 5, "tanh")
    return net.dense(x, CLASSES)


def strides(net, x):
    x = net.convolution(x, 4, [3, 3], stride=2, same=True, activation="silu")
    x = net.residual(x, lambda y: net.convolution(
        net.convolution(y, 6, [1, 1], activation="tanh"), 4, [3, 3], same=True))
    x = net.pool(x, "mean", 2, 1)
    return net.dense(x, CLASSES)


def transformer(net, x):
    x = net.positions(net.embedding(x, 7, 8))
    for _ in range(2):
        x = net.residual(x, lambda y: net.attention(net.norm(y), 2, True))
        x = net.residual(x, lambda y: net.dense(net.dense(net.norm(y), 12, "gelu"), 8))
    x = net.norm(x)[:, -1]
    net.step += 1  # pool over=last
    return net.dense(x, CLASSES)


def both_ways(net, x):
    x = net.dense(x, 6, "relu")
    x = net.residual(x, lambda y: net.attention(y, 3, False)).mean(1)
    net.step += 1  # pool over=mean
    return net.dense(net.norm(x), CLASSES)


CASES = [
    ("images", [7, 6, 2], images, "convolution channels=3 kernel=[3,2] padding=same activation=relu; "
     "pool size=2; convolution channels=4 kernel=[2,2] activation=gelu; dense units=5 activation=tanh"),
    ("strides", [7, 6, 2], strides,
     "convolution channels=4 kernel=[3,3] stride=2 padding=same activation=silu; "
     "residual { convolution channels=6 kernel=[1,1] activation=tanh; "
     "convolution channels=4 padding=same }; pool over=mean size=2 stride=1"),
    ("transformer", [5], transformer,
     "embedding categories=7 width=8; positions; block repeat=2 { "
     "residual { layer-norm; attention heads=2 causal=true }; "
     "residual { layer-norm; dense units=12 activation=gelu; dense units=8 } }; layer-norm; "
     "pool over=last"),
    ("both_ways", [4, 5], both_ways,
     "dense units=6 activation=relu; residual { attention heads=3 }; pool over=mean; layer-norm"),
]


def case(name, shape, network, text):
    rows, count = 6, 1
    for extent in shape:
        count *= extent
    if name == "transformer":  # codes, some of them of no category
        features = [[(3 * row + 5 * i + row * i) % 9 for i in range(count)] for row in range(rows)]
    else:
        features = [grid(count, 41 + 6 * row, 3.0) for row in range(rows)]
    labels = [0, 2, 1, 1, 0, 2]
    x = torch.tensor(features, dtype=torch.float64).reshape([rows, *shape])
    y = torch.tensor(labels)
    net = Net()

    def scores():
        net.begin()
        result = network(net, x)
        net.end()
        return result

    first = scores()
    begin = [(tensor, list(one.shape), one.detach().flatten().tolist()) for tensor, one in net.tensors]
    loss = functional.cross_entropy(first, y, reduction="sum")
    loss.backward()
    gradients = [one.grad.flatten().tolist() for _, one in net.tensors]
    losses = []
    for _ in range(STEPS):
        for _, one in net.tensors:
            one.grad = None
        mean = functional.cross_entropy(scores(), y)
        losses.append(mean.item())
        mean.backward()
        with torch.no_grad():
            for _, one in net.tensors:
                one -= RATE * one.grad
    return {"name": name, "shape": shape, "layers": text, "features": features, "labels": labels,
            "tensors": [{"name": tensor, "shape": extents, "values": values, "gradients": gradient}
                        for (tensor, extents, values), gradient in zip(begin, gradients)],
            "loss_sum": loss.item(), "predictions": functional.softmax(first, 1).tolist(),
            "rate": RATE, "losses": losses}


compact_json.write(Path(__file__).with_name("layers.json"), {"cases": [case(*one) for one in CASES]})
