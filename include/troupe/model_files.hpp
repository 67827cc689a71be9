// Trained models as safetensors files: read, checked and used to predict (`write_model` of <troupe/train.hpp> writes them).
//
// Threads: plain functions; several threads may predict with one `saved_model`, each by a `predictor` of its own.
// Errors: `failure`. A reader checks everything in a file before it believes it; a writer leaves the old file or the new.

#pragma once

#include "data/model_file/safetensors.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/text/failure.hpp"
