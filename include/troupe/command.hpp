// The `troupe` command as a function. A program that adds kinds of its own and calls it is the command, with those kinds.
// Link troupe::command.
//
// Threads: call it once, from main. Errors: it prints them and returns the command's exit code.

#pragma once

#include "app/commands/run_command.hpp"
#include "troupe/kinds.hpp"
