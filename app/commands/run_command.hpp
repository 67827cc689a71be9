// The troupe command as a function. A program that adds kinds of its own (models/kinds) and then calls it
// has all commands of troupe, for jobs that name these kinds. So
//
//   int main(int argc, char** argv) {
//     troupe::models().add<wave_options>("wave", ...);
//     return troupe::run_command(argc, argv);
//   }
//
// trains, resumes, evaluates and predicts, on its own or as a node of a cluster; `launch` starts the
// program's own file for each node. Link troupe::command.

#pragma once

namespace troupe {

/// Reads the command line, runs one command, and turns failures into exit codes: what `main` returns.
/// Once in a process, on its first thread, before others are started: it takes over the process's signals.
int run_command(int argc, char** argv);

} // namespace troupe
