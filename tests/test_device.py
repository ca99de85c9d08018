"""Choosing a device by name, and how torch computes on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from srs_core.device import pick_device


def test_auto_prefers_cuda_then_mps_then_the_cpu() -> None:
    if torch.cuda.is_available():
        expected = "cuda"
    elif torch.backends.mps.is_available():
        expected = "mps"
    else:
        expected = "cpu"
    assert pick_device().type == expected
    assert pick_device("auto") == pick_device()


@pytest.mark.parametrize("name", ["cpu", "meta"])
def test_a_named_device_is_taken(name: str) -> None:
    assert pick_device(name) == torch.device(name)
    assert pick_device(torch.device(name)) == torch.device(name)


@pytest.mark.parametrize("name", ["gpu", "", "cpu:x", "xpu", "CPU please"])
def test_an_unknown_device_is_named_with_the_choices(name: str) -> None:
    with pytest.raises(ValueError, match=rf"device is '{name}'; choose auto, cpu, cuda"):
        pick_device(name)


def test_an_absent_cuda_device_says_what_to_do() -> None:
    absent = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(ValueError, match=rf"'{absent}', but this machine shows .* choose auto or cpu"):
        pick_device(absent)


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="this machine has an Apple GPU")
def test_an_absent_apple_gpu_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="no Apple GPU here; choose auto or cpu"):
        pick_device("mps")


@pytest.mark.parametrize(
    ("chosen", "policy", "spins"),
    [
        ({}, "PASSIVE", "4000"),
        ({"GOMP_SPINCOUNT": "7"}, "PASSIVE", "7"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE", "30000000000"),
    ],
)
def test_torch_hardly_spins_when_it_waits_unless_the_user_says_otherwise(
    chosen: dict[str, str], policy: str, spins: str
) -> None:
    ours = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [sys.executable, "-c", "import srs_core.device"],
        env={**environment, **chosen, "OMP_DISPLAY_ENV": "VERBOSE"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    if "OMP_WAIT_POLICY" not in done.stderr:
        pytest.skip("this build of torch has no OpenMP that tells its settings")
    told = done.stderr.replace("='", " = '")
    assert f"OMP_WAIT_POLICY = '{policy}'" in told
    if "GOMP_SPINCOUNT" in told:
        assert f"GOMP_SPINCOUNT = '{spins}'" in told
