"""What all commands share: the application object, its exit codes and its progress bar."""

import json
import shlex
import sys
from pathlib import PurePath
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.exceptions import TyperException

__all__ = ["app", "command_line", "errors", "main", "print_json", "progress_bar"]

app = typer.Typer(
    name="srs_core",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Certify the robustness of Deep Equilibrium Models.\n\n"
        "Randomized smoothing (RS) votes over noisy copies of a picture and proves how far the picture may "
        "be disturbed before the answer can change. Serialized randomized smoothing (SRS) starts each copy's "
        "solver where the last one ended, and audits a random share of the votes so that the proof still "
        "holds.\n\n"
        "Start with **models**, then **certify PICTURE**; every command explains itself with **--help**."
    ),
)

errors = Console(stderr=True)


def main() -> None:
    """Run the command line: exit code 0 done, 2 bad usage or input (one line says why), 130 interrupted."""
    try:
        sys.exit(app(standalone_mode=False))
    except TyperException as error:
        _complain(_usage(error))
    except (ValueError, OSError) as error:
        _complain(_sentence(error))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(2)


def _complain(sentence: str) -> None:
    errors.print(f"Error: {sentence}", style="red", highlight=False, markup=False, soft_wrap=True)


def _usage(error: TyperException) -> str:
    """What is wrong with the words of a command, on one line, and where its help is."""
    # Without any word the help itself has been printed, and there is no message.
    told = " ".join(error.format_message().split()) or "No command is given."
    told = told if told.endswith((".", "?")) else f"{told}."
    context = getattr(error, "ctx", None)
    return told if context is None else f"{told} See: {context.command_path} --help"


def _sentence(error: ValueError | OSError) -> str:
    """What went wrong, for people; the system's own errors come with a number that says nothing to them."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def command_line() -> str:
    """This command as it was given; of a file by its whole path only the name, which is what counts elsewhere."""
    words = [PurePath(word).name if PurePath(word).is_absolute() else word for word in sys.argv[1:]]
    return shlex.join(["python", "-m", "srs_core", *words])


def print_json(document: Any) -> None:
    """Print one JSON document, and nothing else, on standard output."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def progress_bar(*extra: TextColumn) -> Progress:
    """A bar on standard error with an estimate of the time left; silent when that is not a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        *extra,
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
