// SPDX-License-Identifier: MIT
// How a socket gets from a name to a connection: look it up, then try its addresses, the next one when one has failed or is slow.
'use strict';

const net = load('net');
const { checkPort, begin, connected } = net[Symbol.for('vigil.host')];
const { Handle, placeError } = load('net_link');
const { codes, validateFunction } = load('errors');
const { setTimeout, clearTimeout } = load('sched');

function lookupAndConnect(socket, options, attempt) {
  const { localAddress, localPort } = options;
  const host = options.host || 'localhost';
  let { port } = options;
  if (localAddress && !net.isIP(localAddress)) throw new codes.ERR_INVALID_IP_ADDRESS(localAddress);
  if (localPort && typeof localPort !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('options.localPort', 'number', localPort);
  if (typeof port !== 'number' && typeof port !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('options.port', ['number', 'string'], port);
  port = checkPort(port);
  if (options.autoSelectFamily !== undefined && typeof options.autoSelectFamily !== 'boolean') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.autoSelectFamily', 'boolean', options.autoSelectFamily);
  }
  let patience = options.autoSelectFamilyAttemptTimeout;
  if (patience !== undefined) {
    if (typeof patience !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('options.autoSelectFamilyAttemptTimeout', 'number', patience);
    if (!Number.isInteger(patience)) throw new codes.ERR_OUT_OF_RANGE('options.autoSelectFamilyAttemptTimeout', 'an integer', patience);
    if (patience < 1) throw new codes.ERR_OUT_OF_RANGE('options.autoSelectFamilyAttemptTimeout', '>= 1 && <= 2147483647', patience);
    patience = Math.max(10, patience);
  } else {
    patience = net.getDefaultAutoSelectFamilyAttemptTimeout();
  }
  if (options.blockList !== undefined) socket.blockList = options.blockList;
  if (net.isIP(host) !== 0) {
    process.nextTick(() => {
      if (socket.connecting) attempt(socket, host, port, localAddress, localPort);
    });
    return;
  }
  if (options.lookup !== undefined && options.lookup !== null) validateFunction(options.lookup, 'options.lookup');
  const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : options.family;
  const wanted = { family, hints: options.hints || 0 };
  const lookup = options.lookup || load('dns').lookup;
  socket._host = host;
  const all = (options.autoSelectFamily ?? net.getDefaultAutoSelectFamily()) && family !== 4 && family !== 6 && !localAddress;
  if (all) wanted.all = true;
  lookup(host, wanted, (error, found, type) => {
    if (!Array.isArray(found) || error) {
      socket.emit('lookup', error, found, type, host);
    } else {
      for (let i = 0; i < found.length; i++) socket.emit('lookup', null, found[i].address, found[i].family, host);
    }
    if (!socket.connecting) return;
    let wrong = error;
    let list = [];
    if (!wrong && Array.isArray(found)) {
      list = inTurns(found.filter((one) => net.isIP(one.address) !== 0 && (one.family === 4 || one.family === 6)));
      if (list.length === 0) {
        const first = found[0];
        wrong = first !== undefined && net.isIP(first.address) !== 0 ? new codes.ERR_INVALID_ADDRESS_FAMILY(first.family, options.host, options.port)
                                                                  : new codes.ERR_INVALID_IP_ADDRESS(first?.address);
      }
    } else if (!wrong) {
      if (typeof found !== 'string' || net.isIP(found) === 0) wrong = new codes.ERR_INVALID_IP_ADDRESS(found);
      else if (type !== 4 && type !== 6) wrong = new codes.ERR_INVALID_ADDRESS_FAMILY(type, options.host, options.port);
      else list = [{ address: found, family: type }];
    }
    if (wrong) {
      process.nextTick(() => socket.destroy(wrong));
      return;
    }
    socket._unrefTimer();
    if (list.length === 1) attempt(socket, list[0].address, port, localAddress, localPort);
    else tryAll(socket, list, port, localPort, patience);
  });
}

// The families take turns, that of the first address first.
function inTurns(list) {
  const first = list.filter((one) => one.family === list[0].family);
  const second = list.filter((one) => one.family !== list[0].family);
  const turns = [];
  for (let i = 0; i < first.length || i < second.length; i++) {
    if (i < first.length) turns.push(first[i]);
    if (i < second.length) turns.push(second[i]);
  }
  return turns;
}

function tryAll(socket, list, port, localPort, patience) {
  const errors = [];
  let at = 0;
  let current = null;
  let timer;
  socket.autoSelectFamilyAttemptedAddresses = [];
  socket._attempts = {
    stop() {
      clearTimeout(timer);
      current?.close();
      current = null;
      socket._attempts = undefined;
    },
  };
  const next = () => {
    clearTimeout(timer);
    current = null;
    if (socket.destroyed || !socket.connecting) return;
    if (at >= list.length) {
      socket._attempts = undefined;
      if (errors.length === 1) {
        socket.destroy(errors[0]);
        return;
      }
      const error = new AggregateError(errors);
      error.code = errors[0].code;
      socket.destroy(error);
      return;
    }
    const { address, family } = list[at++];
    const last = at >= list.length;
    const fail = (number) => {
      const error = placeError(number, 'connect', address, port);
      errors.push(error);
      socket.emit('connectionAttemptFailed', address, port, family, error);
      next();
    };
    socket.autoSelectFamilyAttemptedAddresses.push(`${address}:${port}`);
    socket.emit('connectionAttempt', address, port, family);
    const id = begin(socket, address, port, undefined, localPort);
    if (id < 0) {
      fail(id);
      return;
    }
    const handle = current = new Handle(id);
    handle.onConnect = (status) => {
      if (current !== handle) return;
      clearTimeout(timer);
      if (status < 0) {
        handle.close();
        fail(status);
        return;
      }
      current = null;
      socket._attempts = undefined;
      connected(socket, handle);
    };
    if (!last) {
      timer = setTimeout(() => {
        socket.emit('connectionAttemptTimeout', address, port, family);
        errors.push(placeError(-110, 'connect', address, port));
        current = null;
        handle.close();
        next();
      }, patience);
    }
  };
  next();
}

module.exports = { lookupAndConnect };
