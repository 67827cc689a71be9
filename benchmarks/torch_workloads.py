"""The workloads of `benchmarks/compare` in PyTorch: one figure an invocation.

    torch_workloads.py mlp BATCH OPTIMIZER          samples/s; with RANK set: DDP over Gloo
    torch_workloads.py linear FEATURES TARGETS      seconds a step, full batch, plain SGD
    torch_workloads.py tiny FEATURES TARGETS        seconds a step, full batch, Adam
    torch_workloads.py logistic FEATURES TARGETS    samples/s, batch 256, plain SGD, shuffled rows
    torch_workloads.py all-reduce BYTES ROUNDS      microseconds a round over Gloo; with RANK set
    torch_workloads.py federated WIDTHS ROWS BATCH  clients' updates a second: each trains a visit of its
                                                    ROWS from one model, then all changes are added

FEATURES and TARGETS are .npy files. Prints {"value": ...} (rank 0 alone).
"""
import json
import os
import sys
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn

SECONDS = 1.0


def repeat(step):
    """Seconds a step, over about a second and at least three steps, after a warm-up."""
    for _ in range(3):
        step()
    count, begin = 0, time.perf_counter()
    while count < 3 or time.perf_counter() - begin < SECONDS:
        step()
        count += 1
    return (time.perf_counter() - begin) / count


def optimizer_of(name, model):
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[name]
    return kind(model.parameters(), lr=0.001)


def mlp(batch, optimizer_name, widths="784-512-512-10"):
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    widths = [int(width) for width in widths.split("-")]
    rows = 12800 if widths[1] < 1024 else 2560
    x, y = torch.rand(rows, widths[0]), torch.randint(0, widths[-1], (rows,))
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = optimizer_of(optimizer_name, model)
    loss_of = nn.CrossEntropyLoss()
    place = 0

    def step():
        nonlocal place
        if place + batch > rows:
            place = 0
        optimizer.zero_grad()
        loss_of(model(x[place:place + batch]), y[place:place + batch]).backward()
        optimizer.step()
        place += batch

    # Ranks wait for each other: the number of steps must be the same for all.
    for _ in range(10):
        step()
    steps = max(20, 20000 // batch) if widths[1] < 1024 else 20
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    return steps * batch * ranks / (time.perf_counter() - begin)


def arrays(features, targets):
    return torch.from_numpy(numpy.load(features)), torch.from_numpy(numpy.load(targets))


def linear(features, targets, optimizer_name):
    x, y = arrays(features, targets)
    model = nn.Linear(x.shape[1], 1)
    optimizer = optimizer_of(optimizer_name, model)
    y = y.reshape(-1, 1)

    def step():
        optimizer.zero_grad()
        torch.mean((model(x) - y) ** 2).backward()
        optimizer.step()

    return repeat(step)


def logistic(features, targets):
    x, y = arrays(features, targets)
    model = nn.Linear(x.shape[1], 1)
    optimizer = optimizer_of("sgd", model)
    loss_of = nn.BCEWithLogitsLoss()
    y = y.reshape(-1, 1).float()
    place, order = 0, torch.randperm(len(x))

    def step():
        nonlocal place, order
        if place + 256 > len(x):
            place, order = 0, torch.randperm(len(x))
        optimizer.zero_grad()
        rows = order[place:place + 256]
        loss_of(model(x[rows]), y[rows]).backward()
        optimizer.step()
        place += 256

    return 256 / repeat(step)


def all_reduce(size_bytes, rounds):
    dist.init_process_group("gloo")
    values = torch.zeros(size_bytes // 4)

    def run(count):
        begin = time.perf_counter()
        for _ in range(count):
            dist.all_reduce(values)
        return (time.perf_counter() - begin) / count

    run(3)
    result = 1e6 * run(rounds)
    dist.destroy_process_group()
    return result


def federated(widths, rows, batch):
    """One process; a client's model is the round's, loaded anew, and its optimizer is new too."""
    torch.manual_seed(0)
    widths = [int(width) for width in widths.split("-")]
    clients = max(100_000 // rows, 100)
    x = torch.rand(clients * rows, widths[0])
    y = torch.rand(len(x), 1) if widths[-1] == 1 else torch.randint(0, widths[-1], (len(x),))
    owned = torch.randperm(len(x)).reshape(clients, rows)
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    loss_of = nn.MSELoss() if widths[-1] == 1 else nn.CrossEntropyLoss()
    parameters = list(model.parameters())
    start = [values.detach().clone() for values in parameters]
    total = [torch.zeros_like(values) for values in parameters]
    client = 0

    def train_client():
        nonlocal client
        with torch.no_grad():
            for values, first in zip(parameters, start):
                values.copy_(first)
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        for part in owned[client].split(batch):
            optimizer.zero_grad()
            loss_of(model(x[part]), y[part]).backward()
            optimizer.step()
        with torch.no_grad():
            for values, first, changes in zip(parameters, start, total):
                changes.add_(values - first, alpha=rows)
        client = (client + 1) % clients

    return 1 / repeat(train_client)


def main(what, *rest):
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    value = {"mlp": lambda: mlp(int(rest[0]), *rest[1:]),
             "linear": lambda: linear(*rest, "sgd"),
             "tiny": lambda: linear(*rest, "adam"),
             "logistic": lambda: logistic(*rest),
             "federated": lambda: federated(rest[0], int(rest[1]), int(rest[2])),
             "all-reduce": lambda: all_reduce(int(rest[0]), int(rest[1]))}[what]()
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps({"value": value}))


main(*sys.argv[1:])
