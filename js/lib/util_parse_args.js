// SPDX-License-Identifier: MIT
// util.parseArgs: words of a command line by a table of options.
'use strict';

const { codes, validateObject } = load('errors');

function fail(kind, code, message) {
  const error = new kind(message);
  error.code = code;
  return error;
}
function checkTable(options) {
  for (const [name, option] of Object.entries(options)) {
    validateObject(option, `options.${name}`);
    if (option.type !== 'string' && option.type !== 'boolean') {
      throw new codes.ERR_INVALID_ARG_TYPE(`options.${name}.type`, ["('string|boolean')"], option.type);
    }
    if (option.short !== undefined && (typeof option.short !== 'string' || option.short.length !== 1)) {
      throw new codes.ERR_INVALID_ARG_VALUE(`options.${name}.short`, option.short, 'must be a single character');
    }
  }
}

function parseArgs(config) {
  const argv = globalThis.process.argv;
  const { args = argv.slice(2), options = {}, strict = true, allowPositionals = !strict, tokens: wantTokens = false, allowNegative = false } = config;
  if (!Array.isArray(args)) throw new codes.ERR_INVALID_ARG_TYPE('args', 'Array', args);
  validateObject(options, 'options');
  checkTable(options);
  const shorts = new Map();
  for (const [name, option] of Object.entries(options)) if (option.short !== undefined) shorts.set(option.short, name);
  const typeOf = (name) => (Object.hasOwn(options, name) ? options[name].type : undefined);
  const tokens = [];
  const words = [...args];
  let index = -1;
  const option = (name, rawName, value, inlineValue, at) =>
    tokens.push({ kind: 'option', name, rawName, index: at, value, inlineValue });
  while (words.length > 0) {
    const word = words.shift();
    const next = words[0];
    index++;
    if (word === '--') {
      tokens.push({ kind: 'option-terminator', index });
      for (const rest of words) tokens.push({ kind: 'positional', index: ++index, value: rest });
      break;
    }
    if (/^-[^-]$/.test(word)) {
      const name = shorts.get(word[1]) ?? word[1];
      if (typeOf(name) === 'string' && next !== undefined) {
        option(name, word, next, false, index++);
        words.shift();
      } else {
        option(name, word, undefined, undefined, index);
      }
    } else if (/^-[^-]./.test(word)) {
      // -abc, or -fVALUE when f takes one: the group is taken apart in front of the others.
      const expanded = [];
      for (let i = 1; i < word.length; i++) {
        const name = shorts.get(word[i]) ?? word[i];
        if (typeOf(name) !== 'string' || i === word.length - 1) {
          expanded.push(`-${word[i]}`);
        } else {
          option(name, `-${word[i]}`, word.slice(i + 1), true, index);
          expanded.push(null);
          break;
        }
      }
      const inline = expanded[expanded.length - 1] === null ? [tokens.pop()] : [];
      expanded.filter((one) => one !== null).forEach((one, i, all) => {
        const name = shorts.get(one[1]) ?? one[1];
        if (typeOf(name) === 'string' && i === all.length - 1 && inline.length === 0 && next !== undefined) {
          option(name, one, next, false, index++);
          words.shift();
        } else {
          option(name, one, undefined, undefined, index);
        }
      });
      tokens.push(...inline);
    } else if (/^--[^=]+=/.test(word)) {
      const at = word.indexOf('=');
      option(word.slice(2, at), word.slice(0, at), word.slice(at + 1), true, index);
    } else if (word.startsWith('--')) {
      const name = word.slice(2);
      if (typeOf(name) === 'string' && next !== undefined) {
        option(name, word, next, false, index++);
        words.shift();
      } else {
        option(name, word, undefined, undefined, index);
      }
    } else {
      tokens.push({ kind: 'positional', index, value: word });
    }
  }

  const result = { values: Object.create(null), positionals: [] };
  if (wantTokens) result.tokens = tokens;
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (!allowPositionals) {
        throw fail(TypeError, 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL',
          `Unexpected argument '${token.value}'. This command does not take positional arguments`);
      }
      result.positionals.push(token.value);
      continue;
    }
    if (token.kind !== 'option') continue;
    let { name } = token;
    let value = token.value ?? true;
    if (allowNegative && value === true && name.startsWith('no-') && typeOf(name) === undefined && typeOf(name.slice(3)) === 'boolean') {
      name = name.slice(3);
      value = false;
    }
    const type = typeOf(name);
    if (strict) {
      if (type === undefined) {
        const hint = allowPositionals
          ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${token.rawName}"`
          : '';
        throw fail(TypeError, 'ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${token.rawName}'${hint}`);
      }
      const shown = options[name].short ? `-${options[name].short}, --${name}` : `--${name}`;
      if (type === 'string' && typeof value !== 'string') {
        throw fail(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '${shown} <value>' argument missing`);
      }
      if (type === 'boolean' && token.value !== undefined) {
        throw fail(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '${shown}' does not take an argument`);
      }
      if (token.inlineValue === false && token.value.length > 1 && token.value.startsWith('-')) {
        throw fail(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE',
          `Option '${token.rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${token.rawName}'?\n` +
          `To specify an option argument starting with a dash use '${token.rawName.startsWith('--') ? `${token.rawName}=-XYZ` : `--${name}=-XYZ`}'.`);
      }
    }
    if (name === '__proto__') continue;
    if (type !== undefined && options[name].multiple) (result.values[name] ??= []).push(value);
    else result.values[name] = value;
  }
  for (const [name, one] of Object.entries(options)) {
    if (one.default !== undefined && result.values[name] === undefined) result.values[name] = one.default;
  }
  return result;
}

module.exports = { parseArgs };
