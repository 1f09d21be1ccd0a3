#!/usr/bin/env python3
"""torch_speed.py CFG...: images per second of training Darknet's cfgs by PyTorch.

Builds of each cfg the same layers, and trains it on the first CUDA device on made-up rows that
lie in memory: batch/subdivisions rows at a time, gradients added up, one step of momentum SGD a
batch, all in 32 bits (no TF32), as Darknet does. The loss of a [yolo] layer is the mean square
of its input: what its own would cost is little. Prints a line for each cfg: its file and the median
of STEPS steps' images per second.

DDP=N: by DistributedDataParallel with gloo, in N processes on the CPU, each with its part of the
batch and of the cores.

Needs:  PyTorch. Status 3, with a line on stderr, where that sees no CUDA device.
DEVICE= another of PyTorch's devices (cuda); STEPS= (10); SECONDS= a net may take in all (12).
"""
import os
import socket
import statistics
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn
from torch.nn import functional

ACTIVATIONS = {
    "leaky": lambda x: functional.leaky_relu(x, 0.1),
    "relu": functional.relu,
    "linear": lambda x: x,
}


def read_cfg(path):
    """The sections of a cfg, each a pair of its name and its options."""
    sections = []
    with open(path) as lines:
        for line in lines:
            line = line.split("#")[0].strip()
            if line.startswith("["):
                sections.append((line.strip("[]"), {}))
            elif line:
                key, value = line.split("=", 1)
                sections[-1][1][key.strip()] = value.strip()
    return sections


class Recurrent(nn.Module):
    """Darknet's [rnn]: state += self(state) after input(x); output(state), a time step each."""

    def __init__(self, inputs, hidden, outputs, normal, act):
        super().__init__()
        self.act = act
        self.input, self.itself, self.output = (
            nn.Sequential(nn.Linear(n, m, bias=not normal),
                          nn.BatchNorm1d(m) if normal else nn.Identity())
            for n, m in ((inputs, hidden), (hidden, hidden), (hidden, outputs)))

    def forward(self, steps):
        state, outputs = None, []
        for x in steps:
            before = 0 if state is None else self.act(self.itself(state))
            state = self.act(self.input(x)) + before
            outputs.append(self.act(self.output(state)))
        return torch.stack(outputs)


def fitted(other, x):
    """What a shortcut adds to x: the channels and places that both have."""
    step, missing = max(1, other.shape[3] // x.shape[3]), x.shape[1] - other.shape[1]
    other = other[:, :x.shape[1], ::step, ::step]
    return functional.pad(other, (0, 0, 0, 0, 0, missing)) if missing > 0 else other


def pooled(x, size, stride):
    """Darknet's maxpool, whose padding is size - 1 in all."""
    if size == stride:
        return functional.max_pool2d(x, size, stride, ceil_mode=True)
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    x = functional.pad(x, (before, after, before, after), value=float("-inf"))
    return functional.max_pool2d(x, size, stride)


class Network(nn.Module):
    """Darknet's layers one after the other; each may look back at any before it."""

    def __init__(self, sections, channels):
        super().__init__()
        self.sections = sections
        self.kept = nn.ModuleDict()
        self.wide = []  # channels that come out of each layer
        self.wanted = set()  # layers that others look back at
        for i, (kind, options) in enumerate(sections):
            before = self.wide[-1] if self.wide else channels
            self.wide.append(self.add(i, kind, options, before))

    def sources(self, i, options, key):
        found = [int(text) for text in options[key].split(",")]
        return [i + n if n < 0 else n for n in found]

    def add(self, i, kind, options, before):
        """Makes layer i of what `before` channels come in; returns how many come out."""
        if kind == "convolutional":
            filters, size = int(options.get("filters", 1)), int(options.get("size", 1))
            normal = options.get("batch_normalize") == "1"
            padding = size // 2 if options.get("pad") == "1" else int(options.get("padding", 0))
            layers = [nn.Conv2d(before, filters, size, int(options.get("stride", 1)), padding,
                                groups=int(options.get("groups", 1)), bias=not normal)]
            if normal:
                layers.append(nn.BatchNorm2d(filters))
            self.kept[str(i)] = nn.Sequential(*layers)
            return filters
        if kind == "rnn":
            wide = int(options["output"])
            self.kept[str(i)] = Recurrent(before, int(options["hidden"]), wide,
                                          options.get("batch_normalize") == "1",
                                          ACTIVATIONS[options["activation"]])
            return wide
        if kind == "connected":
            self.kept[str(i)] = nn.Linear(before, int(options["output"]))
            return int(options["output"])
        if kind == "route":
            found = self.sources(i, options, "layers")
            self.wanted.update(found)
            return sum(self.wide[n] for n in found)
        if kind == "shortcut":
            self.wanted.update(self.sources(i, options, "from"))
        elif kind not in ("maxpool", "avgpool", "upsample", "dropout", "softmax", "yolo"):
            raise ValueError("no layer [%s] here" % kind)
        return before

    def forward(self, x, truth):
        """The loss of a mini-batch."""
        outputs, loss = {}, 0
        for i, (kind, options) in enumerate(self.sections):
            act = ACTIVATIONS[options.get("activation", "linear")]
            if kind == "convolutional":
                x = act(self.kept[str(i)](x))
            elif kind == "rnn":
                x = self.kept[str(i)](x)
            elif kind == "connected":
                x = act(self.kept[str(i)](x.flatten(0, 1) if x.dim() == 3 else x.flatten(1)))
            elif kind == "maxpool":
                x = pooled(x, int(options.get("size", 1)), int(options.get("stride", 1)))
            elif kind == "dropout":
                x = functional.dropout(x, float(options.get("probability", 0.5)))
            elif kind == "avgpool":
                x = x.mean((2, 3), keepdim=True)
            elif kind == "upsample":
                x = functional.interpolate(x, scale_factor=int(options.get("stride", 2)))
            elif kind == "shortcut":
                x = act(x + fitted(outputs[self.sources(i, options, "from")[0]], x))
            elif kind == "route":
                x = torch.cat([outputs[n] for n in self.sources(i, options, "layers")], 1)
            elif kind == "softmax":
                loss = loss + functional.cross_entropy(x.flatten(1), truth)
            else:
                loss = loss + x.square().mean()
            if i in self.wanted:
                outputs[i] = x
        return loss


def rows_of(options, n):
    """A batch on the host, in memory that a device copies from; of n sequences where it has
    time steps."""
    steps = int(options.get("time_steps", 1))
    shape = (n, int(options.get("channels", 1)), int(options.get("height", 1)),
             int(options.get("width", 1)))
    if "inputs" in options:
        shape = (steps, n, int(options["inputs"]))
    rows, truth = torch.rand(shape), torch.zeros(n * steps, dtype=torch.long)
    return (rows.pin_memory(), truth.pin_memory()) if torch.cuda.is_available() else (rows, truth)


def accumulate(net, x, y, last):
    """Adds a mini-batch's gradient; the processes of DDP exchange theirs with the last."""
    if last or not hasattr(net, "no_sync"):
        net(x, y).backward()
        return
    with net.no_sync():
        net(x, y).backward()


def train(path, device, steps, seconds, parts_of=1):
    """The images per second of each step, of which this process trains on one of so many parts."""
    (_, options), *sections = read_cfg(path)
    batch, parts = int(options["batch"]), int(options.get("subdivisions", 1))
    net = Network(sections, int(options.get("inputs", options.get("channels", 1)))).to(device)
    batch_rows = batch * int(options.get("time_steps", 1))
    if parts_of > 1:
        net = nn.parallel.DistributedDataParallel(net)
        parts = max(1, parts // parts_of)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6, momentum=0.9, weight_decay=0.0005)
    rows, truth = rows_of(options, batch // parts_of)
    speeds, deadline = [], time.monotonic() + seconds
    for i in range(-2, steps):  # two are not counted
        began = time.monotonic()
        optimizer.zero_grad(set_to_none=True)
        for k, (x, y) in enumerate(zip(rows.chunk(parts, int(rows.dim() == 3)), truth.chunk(parts))):
            accumulate(net, x.to(device, non_blocking=True), y.to(device, non_blocking=True),
                       k == parts - 1)
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        if i >= 0:
            speeds.append(batch_rows / (time.monotonic() - began))
        if parts_of == 1 and speeds and time.monotonic() > deadline:
            break
    return speeds


def print_speed(path, speeds):
    print("%s %.2f" % (path, statistics.median(speeds)), flush=True)


def train_rank(rank, ranks, port, paths, steps):
    """One process of DDP."""
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // ranks))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks,
                                         init_method="tcp://127.0.0.1:%d" % port)
    for path in paths:
        speeds = train(path, "cpu", steps, 0, ranks)
        if rank == 0:
            print_speed(path, speeds)
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    ranks = int(os.environ.get("DDP", 0))
    if ranks:
        steps = int(os.environ.get("STEPS", 10))
        torch.multiprocessing.spawn(train_rank, (ranks, free_port(), sys.argv[1:], steps), ranks)
        return 0
    device = os.environ.get("DEVICE", "cuda")
    if device == "cuda" and not torch.cuda.is_available():
        print("torch_speed.py: PyTorch %s sees no CUDA device" % torch.__version__, file=sys.stderr)
        return 3
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    steps, seconds = int(os.environ.get("STEPS", 10)), float(os.environ.get("SECONDS", 12))
    for path in sys.argv[1:]:
        print_speed(path, train(path, device, steps, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
