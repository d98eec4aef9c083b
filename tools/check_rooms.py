#!/usr/bin/env python3
"""Fails when a room includes a higher or a neighbouring one, when a pure file includes libtorch, or when one of
libtorch's headers that hold everything (seconds to half a minute a file) stands outside train; tests and benchmarks may
have torch/torch.h where they use modules or libtorch's own optimizers. Usage: check_rooms.py [ROOT]"""
import os
import re
import sys

LEVEL = {
    "base": 0, "kernels": 1, "tensor": 2, "comm": 3, "params": 4, "schedule": 4, "linalg": 4, "gradients": 5,
    "precision": 5, "optimizers": 6, "step": 7, "distributed": 8, "checkpoint": 8, "recipe": 9, "build": 10,
    "report": 11, "train": 11, "apps": 12,
}
PURE_ROOMS = {"base", "kernels", "schedule", "checkpoint", "recipe"}
# In rooms that hold both, files that libtorch may not enter.
PURE_FILES = re.compile(
    r"optimizers/(\w+_options|catalogue)\.(h|cpp)$|linalg/(coefficient_sets|ns_enums)\.(h|cpp)$|"
    r"precision/(storage|loss_scale_config)\.(h|cpp)$|"
    r"params/(param_info|state_piece)\.(h|cpp)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
TORCH = re.compile(r"^(torch|ATen|c10)/")
UMBRELLAS = {"torch/torch.h", "torch/all.h", "torch/nn.h", "torch/extension.h", "torch/script.h", "ATen/ATen.h",
             "ATen/Functions.h", "ATen/NativeFunctions.h", "ATen/Operators.h"}
# What a test can have from torch/torch.h alone.
NEEDS_TORCH = re.compile(r"\btorch::(nn|save|load|optim::\w+|serialize)\b")


def problems(root):
    found = []
    top = os.path.join(root, "steepest")
    for folder, _, files in sorted(os.walk(top)):
        room = os.path.relpath(folder, top).split(os.sep)[0]
        if room == ".":
            continue
        if room not in LEVEL:
            found.append(f"steepest/{room}: no such room; add it to the table in steepest/README.md and here")
            continue
        for name in sorted(files):
            if not name.endswith((".h", ".cpp")):
                continue
            path = f"{os.path.relpath(folder, root)}/{name}"
            pure = room in PURE_ROOMS or PURE_FILES.search(path)
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    match = INCLUDE.match(line)
                    if not match:
                        continue
                    included = match[1]
                    where = f"{path}:{number}"
                    if included in UMBRELLAS and (room != "train" or included.startswith("ATen/")):
                        why = "holds all operators" if included.startswith("ATen/") else "belongs to train alone"
                        found.append(f"{where}: {included} {why}; take narrow headers")
                    if TORCH.match(included) and pure:
                        found.append(f"{where}: a pure file includes libtorch ({included})")
                    parts = included.split("/")
                    if parts[0] != "steepest" or len(parts) < 3 or parts[1] == room:
                        continue
                    other = parts[1]
                    if other not in LEVEL:
                        found.append(f"{where}: no such room {other}")
                    elif LEVEL[other] >= LEVEL[room]:
                        kind = "a neighbouring" if LEVEL[other] == LEVEL[room] else "a higher"
                        found.append(f"{where}: {room} ({LEVEL[room]}) includes {kind} room, {other} ({LEVEL[other]})")
    return found + umbrellas_beside(root)


def umbrellas_beside(root):
    """The same headers in tests and benchmarks."""
    found = []
    for top in ("tests", "bench"):
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(files):
                if not name.endswith((".h", ".cpp")):
                    continue
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                for number, line in enumerate(text.splitlines(), 1):
                    match = INCLUDE.match(line)
                    if not match or match[1] not in UMBRELLAS:
                        continue
                    if match[1] == "torch/torch.h" and NEEDS_TORCH.search(text):
                        continue
                    where = f"{os.path.relpath(folder, root)}/{name}:{number}"
                    found.append(f"{where}: {match[1]} is needed for nothing here; take narrow headers")
    return found


if __name__ == "__main__":
    result = problems(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for each in result:
        print(each)
    sys.exit(1 if result else 0)
