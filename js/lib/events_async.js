// SPDX-License-Identifier: MIT
// EventEmitterAsyncResource of node:events: its listeners run in the context in which it was made.
'use strict';

const EventEmitter = load('events');
const { AsyncResource } = load('async_hooks');
const { validateString } = load('errors');

class Referencing extends AsyncResource {
  constructor(emitter, type, options) {
    super(type, options);
    Object.defineProperty(this, 'eventEmitter', { value: emitter, enumerable: false });
  }
}

class EventEmitterAsyncResource extends EventEmitter {
  #resource;
  constructor(options = undefined) {
    let name;
    if (typeof options === 'string') {
      name = options;
      options = undefined;
    } else {
      if (new.target === EventEmitterAsyncResource) validateString(options?.name, 'options.name');
      name = options?.name || new.target.name;
    }
    super(options);
    this.#resource = new Referencing(this, name, options);
  }
  emit(event, ...args) {
    return this.#resource.runInAsyncScope(super.emit, this, event, ...args);
  }
  emitDestroy() { this.#resource.emitDestroy(); }
  get asyncId() { return this.#resource.asyncId(); }
  get triggerAsyncId() { return this.#resource.triggerAsyncId(); }
  get asyncResource() { return this.#resource; }
}

module.exports = { EventEmitterAsyncResource };
