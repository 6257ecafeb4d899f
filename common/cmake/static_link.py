"""Runs a link command with static libraries in the place of shared ones, where the system has them.

    static_link.py COMPILER ARGUMENT...

What the packages' CMake files name are shared libraries, and what those need in turn is not named at all. The C library
stays shared, and so does whatever comes without an archive.
"""
import glob
import os
import re
import subprocess
import sys

# What static gRPC needs beyond what the command names.
NEEDED = ("absl_*", "address_sorting", "cares", "crypto", "re2", "upb", "z")


def folders(arguments):
    found = {os.path.dirname(argument) for argument in arguments if re.search(r"/lib[^/]+\.so", argument)}
    return sorted(found)


def archive(argument, places):
    named = re.fullmatch(r"(/.*/lib[^/]+?)\.so(\.[\d.]+)?", argument)
    candidates = [named.group(1) + ".a"] if named else []
    short = re.fullmatch(r"-l([\w+-]+)", argument)
    if short and short.group(1) not in ("c", "m", "pthread", "dl", "rt"):
        candidates += [f"{place}/lib{short.group(1)}.a" for place in places]
    return next((path for path in candidates if os.path.exists(path)), None)


def static_command(arguments):
    places = folders(arguments)
    command, libraries = [], []
    for argument in arguments:
        found = archive(argument, places)
        is_library = not argument.startswith("-") and re.search(r"\.(a|so)(\.[\d.]+)?$", argument)
        if found or is_library:
            libraries.append(found or argument)
        else:
            command.append(argument)
    for place in places:
        for name in NEEDED:
            libraries += sorted(glob.glob(f"{place}/lib{name}.a"))
    # libfmt is named but not needed: our logs take its headers.
    shared = any(".so" in os.path.basename(path) and "libfmt" not in path for path in libraries)
    if not shared:
        # Else a shared library brings the C++ runtime, and two of them must not meet.
        command += ["-static-libstdc++", "-static-libgcc"]
    return command + ["-Wl,--as-needed", "-Wl,--gc-sections", "-Wl,--start-group", *dict.fromkeys(libraries),
                      "-Wl,--end-group", "-ldl", "-lpthread", "-lrt", "-lm"]


sys.exit(subprocess.call(static_command(sys.argv[1:])))
