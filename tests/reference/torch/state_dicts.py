"""Makes state_dicts.json: PyTorch models that are trained a little, for training that begins from their parameters.

    /usr/bin/python3 tests/reference/torch/state_dicts.py          (needs python3-numpy, python3-torch)

Content: `cases`, each with its `name`, `layers` and `shape` of a row as Troupe has them, `names` (Troupe's tensors and
PyTorch's, where neither names nor shapes tell), `rows` and `labels`, `before` and `after` (state_dicts: name, shape,
values), and `predictions` of the rows before and after EPOCHS steps of gradient descent on all rows at RATE.
"""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent))
import compact_json

CLASSES, ROWS, EPOCHS, RATE = 3, 12, 4, 0.1


class Transformer(nn.Module):
    def __init__(self, categories, length, width):
        super().__init__()
        self.table = nn.Embedding(categories + 1, width)  # Troupe's last row is for codes that were never seen
        self.places = nn.Parameter(torch.randn(length, width) * 0.1)
        self.block = nn.TransformerEncoderLayer(width, 2, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, codes):
        x = self.norm(self.block(self.table(codes.long()) + self.places))
        return self.head(x[:, -1])


TRANSFORMER = """embedding categories=5 width=8
positions
residual { layer-norm; attention heads=2 }
residual { layer-norm; dense units=16 activation=gelu; dense units=8 }
layer-norm
pool over=last"""


def cases():
    yield "linear", nn.Linear(5, CLASSES), None, None, {}, torch.randn(ROWS, 5)
    deep = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(),
                         nn.Linear(6, CLASSES))
    names = {f"layers.{i}.{kind}": f"{2 * i}.{kind}" for i in (1, 2) for kind in ("weight", "bias")}
    names["layers.0.bias"] = "0.bias"
    yield "deep", deep, "dense units=6 activation=relu; " * 3, None, names, torch.randn(ROWS, 5)
    convolutional = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 2), nn.ReLU(),
                                  nn.Flatten(), nn.Linear(16, 7), nn.ReLU(), nn.Linear(7, CLASSES))
    layers = ("convolution channels=3 padding=same activation=relu; pool size=2; "
              "convolution channels=4 kernel=[2, 2] activation=relu; dense units=7 activation=relu")
    yield "convolutional", convolutional, layers, [6, 6, 3], {"layers.0.bias": "0.bias"}, torch.randn(ROWS, 3, 6, 6)
    own = {"layers.2.": "block.norm1.", "layers.3.in.": "block.self_attn.in_proj_",
           "layers.3.out.": "block.self_attn.out_proj.", "layers.5.": "block.norm2.", "layers.6.": "block.linear1.",
           "layers.7.": "block.linear2.", "layers.9.": "norm."}
    names = {mine + kind: theirs + kind for mine, theirs in own.items() for kind in ("weight", "bias")}
    names |= {"layers.0.weight": "table.weight", "layers.1.weight": "places"}
    yield "transformer", Transformer(5, 6, 8), TRANSFORMER, [6], names, torch.randint(0, 5, (ROWS, 6)).float()


def tensors_of(model):
    return [{"name": name, "shape": list(value.shape), "values": value.detach().clone().ravel().numpy()}
            for name, value in model.state_dict().items()]


def case_of(name, model, layers, shape, names, x):
    labels = torch.arange(ROWS) * 7 % CLASSES
    rows = x.permute(0, 2, 3, 1).reshape(ROWS, -1) if x.dim() == 4 else x
    result = {"name": name, "layers": layers, "shape": shape, "names": names, "rows": list(rows.numpy()),
              "labels": labels.tolist(), "before": tensors_of(model)}
    predictions = [list(torch.softmax(model(x), 1).detach().numpy())]
    descent = torch.optim.SGD(model.parameters(), RATE)
    for _ in range(EPOCHS):
        descent.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        descent.step()
    predictions.append(list(torch.softmax(model(x), 1).detach().numpy()))
    return result | {"after": tensors_of(model), "predictions": predictions}


if __name__ == "__main__":
    torch.manual_seed(4)
    content = {"epochs": EPOCHS, "rate": RATE, "cases": [case_of(*one) for one in cases()]}
    compact_json.write(Path(__file__).with_suffix(".json"), content)
