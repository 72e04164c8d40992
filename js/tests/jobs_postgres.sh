#!/bin/sh
# SPDX-License-Identifier: MIT
# jobs_postgres.sh PROGRAM SCRIPTS LIBRARIES: the scripts of vigil:jobs once more, on a PostgreSQL server of their own (Unix socket, below
# /tmp), which is stopped and removed at the end. LIBRARIES has libvigil-jobs-pq.
set -u
program=$1
scripts=$2
libraries=$3
programs=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -1)
if [ -z "$programs" ]; then
    echo 'jobs_postgres: left out: there is no PostgreSQL server (Debian: postgresql)'
    exit 0
fi
folder=$(mktemp -d /tmp/vigil-js-pg-XXXXXX)
as=""
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
    as="runuser -u postgres --"
    chown postgres "$folder"
fi
chmod 755 "$folder"
stop() {
    (cd / && $as "$programs/pg_ctl" -D "$folder/data" -m immediate stop > /dev/null 2>&1)
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM
if ! (cd / && $as "$programs/initdb" -D "$folder/data" -A trust -N -U vigil > "$folder/log" 2>&1 &&
    $as "$programs/pg_ctl" -D "$folder/data" -w -t 600 -l "$folder/server.log" \
        -o "-k $folder -c listen_addresses= -c fsync=off -c shared_buffers=16MB" start >> "$folder/log" 2>&1); then
    cat "$folder/log"
    exit 1
fi
failed=0
for script in queue.mjs ends.js; do
    database=$(echo $script | cut -d . -f 1)
    "$programs/createdb" -h "$folder" -U vigil "$database" || exit 1
    output=$(LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} VIGIL_LOG=off \
        VIGIL_TEST_QUEUE="postgresql://vigil@/$database?host=$folder" timeout 600 "$program" "$scripts/$script" 2>&1)
    output="$output
status $?"
    if [ "$output" != "$(cat "$scripts/$script.out")" ]; then
        printf 'jobs_postgres: %s printed\n%s\n' "$script" "$output"
        failed=1
    fi
done
exit $failed
