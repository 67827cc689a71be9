// Rows: CSV files read into a table, tables turned into data sets, data sets split and standardised, batches of them.
//
// Shapes: N rows of F float32 features, dense (row-major) or sparse; a class number or T float32 targets for each row.
// Threads: data sets are immutable and shared; readers are plain functions.
// Errors: `failure` with line, column and advice. No reader guesses and none leaves out a cell.

#pragma once

#include "data/formats/csv/csv.hpp"
#include "data/rows_file/row_supply.hpp"
#include "data/table/dataset.hpp"
#include "data/table/table.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/prepare.hpp"
