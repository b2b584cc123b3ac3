"""What each worker needs to know before it can collect tests, found out by the first of them: to start the tool, make or a mount
namespace takes longer than to read the answer."""
import functools
import json
import os

BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.environ.get("PMU_BUILD", "build"))
RUN = "PMU_TEST_RUN"  # in the environment of each process of a run


def once(function):
    """For a function without parameters whose result JSON can hold."""
    @functools.lru_cache(maxsize=None)
    def found():
        run = os.environ.get(RUN)
        path = os.path.join(BUILD, "once", f"{run}.{function.__module__}.{function.__name__}")
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            result = function()
        if run:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
                json.dump(result, file)
            os.rename(file.name, path)
        return result
    return found


def forget():
    """What a run has left."""
    folder = os.path.join(BUILD, "once")
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name.startswith(os.environ[RUN]):
            os.remove(os.path.join(folder, name))
