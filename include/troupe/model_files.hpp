// Trained models as safetensors files: read, checked and used to predict (`write_model` of <troupe/train.hpp> writes them).
//
// Threads: plain functions; a `saved_model` that is read may predict on several threads, each with a workspace of its own.
// Errors: `failure`. A reader checks everything in a file before it believes it; a writer leaves the old file or the new.

#pragma once

#include "data/model_file/safetensors.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/text/failure.hpp"
