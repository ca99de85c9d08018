"""torchvision must work beside the torch that is installed, CPU-only or not."""

import subprocess
import sys
from pathlib import Path

import torch

from srs_core.vision import torchvision

ROOT = Path(__file__).parents[1]


def run(program):
    """What a fresh interpreter prints, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def test_it_is_usable_and_always_the_same_module():
    module = torchvision()
    assert module is torchvision() is sys.modules["torchvision"]
    assert module.transforms.v2.functional.resize(torch.rand(3, 20, 30), [8, 8]).shape == (3, 8, 8)
    assert module.datasets.CIFAR10.__name__ == "CIFAR10"


def test_a_broken_import_is_repaired_once_and_a_good_one_left_alone():
    program = """
import gc, sys
from concurrent.futures import ThreadPoolExecutor
try:
    import torchvision
    expected_repairs = 0
except RuntimeError:
    expected_repairs = 1
from srs_core import vision
repairs, repair = [], vision._state_missing_schemas
vision._state_missing_schemas = lambda: repairs.append(repair())
with ThreadPoolExecutor(4) as pool:
    modules = set(pool.map(lambda _: vision.torchvision(), range(8)))
gc.collect()  # a schema that is not kept alive would be gone now
import torchvision, torchvision.models
print(modules == {torchvision}, len(repairs) == expected_repairs)
"""
    assert run(program) == ["True", "True"]


def test_nothing_heavy_is_imported_before_it_is_asked_for():
    program = "import sys, srs_core.vision; print('torch' in sys.modules, 'torchvision' in sys.modules)"
    assert run(program) == ["False", "False"]
