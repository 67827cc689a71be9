# What decoders of hostile bytes need of actors and app beside whole folders (tests/fuzz.cmake): compiled alone, so that
# it can be seen that they need no more.
set(troupe_decoder_files
    actors/net/carriers/carried_frame actors/net/carriers/piece_stream actors/net/carriers/shared_slots
    actors/net/clients/client_frames actors/net/gate/hello actors/net/gate/visit actors/net/gate/visitor actors/net/table/table_agreement
    actors/run/explanation actors/run/trainer_records
    app/cluster/cluster_file app/cluster/cluster_schema
    app/page/page_request app/run/flight_report app/terminal/figures_text app/terminal/status_report)
list(TRANSFORM troupe_decoder_files REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1.cpp")
