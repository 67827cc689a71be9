# Whether to build the Python module (python/): if its parts are there, for Debian's own Python, which
# has the packages that scripts/install-dependencies installs. Sanitizers would want a Python of theirs.
find_program(TROUPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TROUPE_PYTHON python3)

set(troupe_python_found OFF)
if(NOT DEFINED TROUPE_BUILD_PYTHON AND PROJECT_IS_TOP_LEVEL AND NOT TROUPE_SANITIZE)
  set(troupe_python_wanted ON)
else()
  set(troupe_python_wanted ${TROUPE_BUILD_PYTHON})
endif()
if(TROUPE_PYTHON AND troupe_python_wanted)
  set(Python_EXECUTABLE ${TROUPE_PYTHON})
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    find_package(pybind11 2.10 QUIET CONFIG)
    if(pybind11_FOUND)
      set(troupe_python_found ON)
    endif()
  endif()
endif()

option(TROUPE_BUILD_PYTHON "Build the Python module; needs pybind11" ${troupe_python_found})
if(TROUPE_BUILD_PYTHON AND NOT troupe_python_found)
  message(FATAL_ERROR "The Python module needs pybind11 and Python's headers: run "
                      "scripts/install-dependencies test, or build without it: -DTROUPE_BUILD_PYTHON=OFF")
endif()
