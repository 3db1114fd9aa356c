#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small vision transformer for experiments/images/run, so that there are patch tokens to look at: trained here, since no
package of a registry brings one. It is a student: of crops of pictures without labels it learns to predict what three
convolutional networks see (the last maps of its teachers from its tokens, their means from its class token), so it knows no
more than they do, and of far fewer pictures. What it is worth beside a transformer that saw millions it does not tell.

    vit.py MODEL.onnx --pictures FOLDER... --teachers FILE.onnx:LAYER... --program tenon --work DIR [--epochs N]

MODEL.onnx has the layer `tokens`, (1, 65, 128): the class token, then 8 x 8 patches of a picture of 128 x 128; MODEL.json
beside it tells how pictures go in. Needs torch, NumPy and Pillow (Debian: python3-torch, python3-pil). Everything is drawn by
seed 0, a generator per step, and what is reached is kept in DIR: one that was interrupted goes on, to the same end.
Exit 77: torch is not there."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # sums in one order; ten minutes of one core
try:
    import numpy as np
    import torch
    from PIL import Image
    from torch import nn
    from torch.nn import functional
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)

SIDE, GRID, WIDTH, DEPTH, HEADS = 128, 8, 128, 4, 4
VIEWS, DIMS, BLOCK = 3, 96, 400  # crops per picture; columns that a teacher's map is projected to at most; crops per call
BATCH, RATE, DECAY = 64, 1e-3, 0.05
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# ---- crops, and what the teachers see of them ----

def make_crops(pictures, folder):
    """VIEWS crops of each picture, of 0.35 to 1 of its area, as 256 x 256 files; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    draw, paths = np.random.default_rng(0), []
    for i, picture in enumerate(pictures):
        image = None
        for view in range(VIEWS):
            path, share, x, y = folder / f"{i:05d}-{view}.jpg", *draw.uniform((0.35, 0, 0), 1)
            paths.append(path)
            if path.is_file():
                continue
            image = image or Image.open(picture).convert("RGB")
            side = share ** 0.5 * min(image.size)
            left, top = x * (image.width - side), y * (image.height - side)
            image.resize((256, 256), Image.BILINEAR, (left, top, left + side, top + side)).save(path, quality=95)
    return paths


def maps_of(program, teacher, paths, work):
    """(crops, GRID, GRID, columns): a teacher's last map, resampled to the student's grid."""
    listed, made = work / "crops.txt", work / "maps.npy"
    listed.write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    subprocess.run([program, "extract", listed, "--net", teacher, "--as", "bag", "-o", made, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    bags = np.load(made)
    side = int(round(bags.shape[1] ** 0.5))
    maps = torch.from_numpy(bags).reshape(len(bags), side, side, -1).permute(0, 3, 1, 2)
    maps = functional.interpolate(maps, size=(GRID, GRID), mode="bilinear", align_corners=False) if side < GRID \
        else functional.adaptive_avg_pool2d(maps, GRID)
    return maps.permute(0, 2, 3, 1).contiguous().numpy()


def projection(maps):
    """Mean and first DIMS principal directions, scaled so that the values have unit variance on average."""
    rows = maps.reshape(-1, maps.shape[-1]).astype(np.float64)
    mean = rows.mean(0)
    values, directions = np.linalg.eigh((rows - mean).T @ (rows - mean) / len(rows))
    best = directions[:, ::-1][:, :DIMS]
    return mean, best / np.sqrt(values[::-1][:DIMS].mean())


def targets_of(program, teacher, paths, work, kept):
    """(crops, GRID * GRID, DIMS or fewer) as half floats, into a file: maps of one teacher, projected as those of its first block."""
    targets, mean, directions = [], None, None
    for first in range(0, len(paths), BLOCK):
        maps = maps_of(program, teacher, paths[first:first + BLOCK], work)
        if mean is None:
            mean, directions = projection(maps)
        targets.append(((maps - mean) @ directions).reshape(len(maps), GRID * GRID, -1).astype(np.float16))
        print(f"{teacher}: {first + len(maps)} of {len(paths)}", file=sys.stderr, flush=True)
    np.save(kept, np.concatenate(targets))


def make_targets(program, teachers, paths, work):
    """(crops, GRID * GRID, columns of all): what all teachers see, side by side."""
    files = [work / f"targets-{i}.npy" for i in range(len(teachers))]
    for teacher, kept in zip(teachers, files):
        if not kept.is_file():
            targets_of(program, teacher, paths, work, kept)
    return np.concatenate([np.load(kept) for kept in files], 2)


def make_pixels(paths, work):
    """(crops, SIDE, SIDE, 3) bytes: the middle 7/8 of the crops, which is what teachers see of them too."""
    kept = work / "pixels.npy"
    if not kept.is_file():
        box = (16, 16, 240, 240)
        np.save(kept, np.stack([np.asarray(Image.open(path).resize((SIDE, SIDE), Image.BILINEAR, box)) for path in paths]))
    return np.load(kept, mmap_mode="r")


# ---- the student ----

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.ask, self.answer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.apart = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        n, tokens, _ = x.shape
        query, key, value = self.ask(self.first(x)).reshape(n, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (query @ key.transpose(2, 3) * (WIDTH // HEADS) ** -0.5).softmax(3)
        x = x + self.answer((weights @ value).transpose(1, 2).reshape(n, tokens, WIDTH))
        return x + self.apart(self.second(x))


class Student(nn.Module):
    """Four convolutions of stride 2 cut the picture into patches of 16 x 16: with so few pictures they learn faster than one
    linear map of a patch. Then DEPTH blocks with a class token."""

    def __init__(self):
        super().__init__()
        sizes, stem = (3, WIDTH // 8, WIDTH // 4, WIDTH // 2, WIDTH), []
        for before, after in zip(sizes, sizes[1:]):
            stem += [nn.Conv2d(before, after, 3, 2, 1), nn.GroupNorm(1, after), nn.ReLU()]
        self.stem = nn.Sequential(*stem[:-2])
        self.place = nn.Parameter(0.02 * torch.randn(1, GRID * GRID, WIDTH))
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
        self.blocks, self.last = nn.Sequential(*[Block() for _ in range(DEPTH)]), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2) + self.place
        return self.last(self.blocks(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)))


def batch_of(pixels, targets, chosen, draw):
    """Pictures, half of them mirrored with their maps, their colours a little brighter or darker; maps; their means."""
    x = torch.from_numpy(pixels[chosen]).permute(0, 3, 1, 2).float() / 255
    y = torch.from_numpy(targets[chosen]).float().reshape(len(chosen), GRID, GRID, -1)
    turned = torch.rand(len(chosen), generator=draw) < 0.5
    x[turned], y[turned] = x[turned].flip(3), y[turned].flip(2)
    x = x * (0.8 + 0.4 * torch.rand(len(chosen), 1, 1, 1, generator=draw))
    x = (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    return x, y.flatten(1, 2), y.mean((1, 2))


def step_of(model, optimizer, batch, spread):
    """One step; the errors of tokens and of class tokens, as shares of the variance. Means vary less than what they are means
    of: `spread` makes both count alike."""
    student, local, whole = model
    x, y, mean = batch
    tokens = student(x)
    losses = functional.mse_loss(local(tokens[:, 1:]), y), functional.mse_loss(whole(tokens[:, 0]), mean / spread)
    optimizer.zero_grad()
    sum(losses).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    return np.array([float(loss) for loss in losses])


def rate_at(step, steps, warm=300):
    """Of AdamW: up along a line, down along a cosine."""
    return RATE * min(1, (step + 1) / warm) * 0.5 * (1 + np.cos(np.pi * step / steps))


def chosen_at(step, count):
    """The crops of a step, in the order of its epoch, and the generator that its changes are drawn by."""
    epoch, at = divmod(step * BATCH, count // BATCH * BATCH)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(epoch))
    return np.sort(order[at:at + BATCH].numpy()), torch.Generator().manual_seed(1 << 20 | step)


def train(pixels, targets, work, epochs, seconds):
    """The student after all epochs, and its errors over the last hundred steps; None when time was up before, with what is
    reached kept for the next call."""
    torch.manual_seed(0)
    end = time.monotonic() + (seconds or 1e9)
    model = nn.ModuleList([Student(), nn.Linear(WIDTH, targets.shape[2]), nn.Linear(WIDTH, targets.shape[2])])
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=DECAY)
    spread = torch.from_numpy(targets.astype(np.float32).mean(1).std(0))
    steps, kept, first, errors = epochs * (len(pixels) // BATCH), work / "student.pt", 0, []
    if kept.is_file():
        state = torch.load(kept)
        first, errors = state["step"], state["errors"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for step in range(first, steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps)
        chosen, draw = chosen_at(step, len(pixels))
        errors = [*errors[-99:], step_of(model, optimizer, batch_of(pixels, targets, chosen, draw), spread)]
        done = step + 1 == steps or time.monotonic() > end
        if done or step % 100 == 99:
            now = np.mean(errors, 0)
            print(f"step {step + 1} of {steps}: {now[0]:.3f} of tokens, {now[1]:.3f} of means", file=sys.stderr, flush=True)
            torch.save({"step": step + 1, "errors": errors, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                       work / "student.new")
            (work / "student.new").rename(kept)
        if done and step + 1 < steps:
            return None, None
    return model[0].eval(), np.mean(errors, 0)


def export(student, path):
    torch.onnx.export(student, torch.zeros(1, 3, SIDE, SIDE), str(path), input_names=["image"], output_names=["tokens"],
                      dynamic_axes={"image": {0: "N"}, "tokens": {0: "N"}}, opset_version=14)
    path.with_suffix(".json").write_text(json.dumps({"input_size": [3, SIDE, SIDE], "crop_pct": 0.875, "interpolation": "bilinear",
                                                     "mean": MEAN, "std": STD}), encoding="utf-8")


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--teachers", nargs="+", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seconds", type=float, help="of training at most; exit 75: to be called again, and goes on")
    options = parser.parse_args(words)
    options.work.mkdir(parents=True, exist_ok=True)
    pictures = sorted(path for folder in options.pictures for path in folder.rglob("*") if path.suffix in (".jpg", ".png"))
    paths = make_crops(pictures, options.work.resolve() / "crops")
    targets = make_targets(options.program, options.teachers, paths, options.work)
    student, errors = train(make_pixels(paths, options.work), targets, options.work, options.epochs, options.seconds)
    if student is None:
        sys.exit(75)
    export(student, options.model)
    print(json.dumps({"pictures": len(pictures), "crops": len(paths), "epochs": options.epochs, "errors": list(errors),
                      "parameters": sum(p.numel() for p in student.parameters())}))


if __name__ == "__main__":
    main(sys.argv[1:])
