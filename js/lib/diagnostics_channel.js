// SPDX-License-Identifier: MIT
// node:diagnostics_channel: named channels that libraries publish to.
'use strict';

const { codes, validateFunction } = load('errors');
const channels = new Map();

class Channel {
  #listeners = [];
  #stores = new Map(); // AsyncLocalStorage -> what makes its value of a message
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() { return this.#listeners.length > 0 || this.#stores.size > 0; }
  subscribe(listener) {
    validateFunction(listener, 'subscription');
    this.#listeners = [...this.#listeners, listener];
  }
  unsubscribe(listener) {
    const at = this.#listeners.indexOf(listener);
    if (at < 0) return false;
    this.#listeners = this.#listeners.toSpliced(at, 1);
    return true;
  }
  bindStore(store, transform) {
    this.#stores.set(store, transform);
  }
  unbindStore(store) {
    return this.#stores.delete(store);
  }
  publish(message) {
    for (const listener of this.#listeners) {
      try {
        listener(message, this.name);
      } catch (error) {
        uncaughtLater(error);
      }
    }
  }
  // fn with the stores that are bound to the channel set from the message.
  runStores(message, fn, self, ...args) {
    let run = () => {
      this.publish(message);
      return Reflect.apply(fn, self, args);
    };
    this.#stores.forEach((transform, store) => {
      let value = message;
      if (transform !== undefined) {
        try {
          value = transform(message);
        } catch (error) {
          uncaughtLater(error);
          return;
        }
      }
      const inner = run;
      run = () => store.run(value, inner);
    });
    return run();
  }
}
// One listener's trouble is not the publisher's.
function uncaughtLater(error) {
  process.nextTick(() => {
    throw error;
  });
}
function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol') throw new codes.ERR_INVALID_ARG_TYPE('channel', ['string', 'symbol'], name);
  let known = channels.get(name);
  if (known === undefined) channels.set(name, known = new Channel(name));
  return known;
}

const kinds = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
function named(names, kind) {
  if (typeof names === 'string') return channel(`tracing:${names}:${kind}`);
  if (names === null || typeof names !== 'object' || Array.isArray(names)) {
    throw new codes.ERR_INVALID_ARG_TYPE('nameOrChannels', ['string', 'object', 'TracingChannel'], names);
  }
  if (!(names[kind] instanceof Channel)) throw new codes.ERR_INVALID_ARG_TYPE(`nameOrChannels.${kind}`, 'Channel', names[kind]);
  return names[kind];
}
class TracingChannel {
  constructor(names) {
    for (const kind of kinds) this[kind] = named(names, kind);
  }
  get hasSubscribers() { return kinds.some((kind) => this[kind].hasSubscribers); }
  subscribe(handlers) {
    for (const kind of kinds) if (handlers[kind]) this[kind].subscribe(handlers[kind]);
  }
  unsubscribe(handlers) {
    return kinds.filter((kind) => handlers[kind] && !this[kind].unsubscribe(handlers[kind])).length === 0;
  }
  traceSync(fn, context = {}, self = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, self, args);
    return this.start.runStores(context, () => {
      try {
        const result = Reflect.apply(fn, self, args);
        context.result = result;
        return result;
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  tracePromise(fn, context = {}, self = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, self, args);
    const settled = (name, value) => {
      context[name] = value;
      if (name === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
    };
    return this.start.runStores(context, () => {
      try {
        let promise = Reflect.apply(fn, self, args);
        if (!(promise instanceof Promise)) promise = Promise.resolve(promise);
        return promise.then((value) => {
          settled('result', value);
          return value;
        }, (error) => {
          settled('error', error);
          return Promise.reject(error);
        });
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  // fn whose argument at `position` is a callback.
  traceCallback(fn, position = -1, context = {}, self = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, self, args);
    const callback = args.at(position);
    validateFunction(callback, 'callback');
    const tracing = this;
    args.splice(position, 1, function (...results) {
      const [error, result] = results;
      if (error) tracing.#failed(context, error);
      else context.result = result;
      return tracing.asyncStart.runStores(context, () => {
        try {
          return Reflect.apply(callback, this, results);
        } finally {
          tracing.asyncEnd.publish(context);
        }
      });
    });
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(fn, self, args);
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  #failed(context, error) {
    context.error = error;
    this.error.publish(context);
  }
}

module.exports = {
  channel, Channel,
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, listener) => channel(name).subscribe(listener),
  unsubscribe: (name, listener) => channel(name).unsubscribe(listener),
  tracingChannel: (names) => new TracingChannel(names),
};
