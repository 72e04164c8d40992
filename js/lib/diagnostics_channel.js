// SPDX-License-Identifier: MIT
// node:diagnostics_channel: named channels that libraries publish to.
'use strict';

const { codes, validateFunction } = load('errors');
const channels = new Map();

class Channel {
  #listeners = [];
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() { return this.#listeners.length > 0; }
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
  publish(message) {
    for (const listener of this.#listeners) {
      try {
        listener(message, this.name);
      } catch (error) {
        // One listener's trouble is not the publisher's.
        process.nextTick(() => {
          throw error;
        });
      }
    }
  }
}
function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol') throw new codes.ERR_INVALID_ARG_TYPE('channel', ['string', 'symbol'], name);
  let known = channels.get(name);
  if (known === undefined) channels.set(name, known = new Channel(name));
  return known;
}

const kinds = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
class TracingChannel {
  constructor(names) {
    for (const kind of kinds) this[kind] = typeof names === 'string' ? channel(`tracing:${names}:${kind}`) : names[kind];
  }
  get hasSubscribers() { return kinds.some((kind) => this[kind].hasSubscribers); }
  subscribe(handlers) {
    for (const kind of kinds) if (handlers[kind]) this[kind].subscribe(handlers[kind]);
  }
  unsubscribe(handlers) {
    return kinds.filter((kind) => handlers[kind] && !this[kind].unsubscribe(handlers[kind])).length === 0;
  }
  traceSync(fn, context = {}, self = undefined, ...args) {
    this.start.publish(context);
    try {
      const result = Reflect.apply(fn, self, args);
      context.result = result;
      return result;
    } catch (error) {
      context.error = error;
      this.error.publish(context);
      throw error;
    } finally {
      this.end.publish(context);
    }
  }
  tracePromise(fn, context = {}, self = undefined, ...args) {
    const settled = (name, value) => {
      context[name] = value;
      if (name === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
    };
    this.start.publish(context);
    try {
      return Promise.resolve(Reflect.apply(fn, self, args)).then((value) => {
        settled('result', value);
        return value;
      }, (error) => {
        settled('error', error);
        throw error;
      });
    } catch (error) {
      context.error = error;
      this.error.publish(context);
      throw error;
    } finally {
      this.end.publish(context);
    }
  }
}

module.exports = {
  channel, Channel,
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, listener) => channel(name).subscribe(listener),
  unsubscribe: (name, listener) => channel(name).unsubscribe(listener),
  tracingChannel: (names) => new TracingChannel(names),
};
