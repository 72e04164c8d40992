// SPDX-License-Identifier: MIT
// node:v8: values as bytes, and what the heap holds. What asks for the inside of V8 itself is not here.
'use strict';

const { Serializer, Deserializer, DefaultSerializer, DefaultDeserializer } = load('v8_wire');

function serialize(value) {
  const serializer = new DefaultSerializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}
function deserialize(buffer) {
  const deserializer = new DefaultDeserializer(buffer);
  deserializer.readHeader();
  return deserializer.readValue();
}

function getHeapStatistics() {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const free = load('os').totalmem();
  return {
    total_heap_size: heapTotal, total_heap_size_executable: 0, total_physical_size: rss, total_available_size: Math.max(0, free - heapUsed),
    used_heap_size: heapUsed, heap_size_limit: free, malloced_memory: external, peak_malloced_memory: external, does_zap_garbage: 0,
    number_of_native_contexts: 1, number_of_detached_contexts: 0, total_global_handles_size: 0, used_global_handles_size: 0,
    external_memory: external,
  };
}

module.exports = { serialize, deserialize, getHeapStatistics, Serializer, Deserializer, DefaultSerializer, DefaultDeserializer };
