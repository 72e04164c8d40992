// SPDX-License-Identifier: MIT
// Scripts for the contexts of node:vm.
//
// A context keeps its names in an object of the program. The engine tells us of every name that a script looks up or assigns, but not of
// those that it declares at the top with `var` or as functions: it keeps these itself. So these declarations become assignments.
// They stand where the declarations stood, so lines stay lines. A function must be there before the first line runs: each is a text of
// its own, run first, on the line on which it was written.
//
// A declaration has no value of its own (`5; var a = 1` gives 5). Nor has a block with a `let` in it.
'use strict';

const acorn = load('npm:acorn');
const MAY_DECLARE = /\b(?:var|function)\b/;
const HELPER = '$vigilVar';

function patternNames(node, names) {
  switch (node?.type) {
    case 'Identifier':
      names.add(node.name);
      break;
    case 'ObjectPattern':
      for (const one of node.properties) patternNames(one.type === 'RestElement' ? one.argument : one.value, names);
      break;
    case 'ArrayPattern':
      for (const one of node.elements) patternNames(one, names);
      break;
    case 'AssignmentPattern':
      patternNames(node.left, names);
      break;
    case 'RestElement':
      patternNames(node.argument, names);
      break;
    default:
  }
}

function rewrite(text) {
  const plain = { text, names: [], functions: [] };
  if (!MAY_DECLARE.test(text)) return plain;
  let tree;
  try {
    tree = acorn.parse(text, { ecmaVersion: 'latest', sourceType: 'script', allowHashBang: true });
  } catch {
    return plain; // the engine says what is wrong, or knows better
  }
  const names = new Set();
  const functions = [];
  const edits = [];
  const strict = tree.body.some((node) => node.directive === 'use strict');
  const lineOf = (place) => text.slice(0, place).split('\n').length - 1;

  function declaration(node, inHead) {
    for (const one of node.declarations) patternNames(one.id, names);
    if (inHead) {
      edits.push([node.start, node.start + 3, '']);
    } else if (node.declarations.every((one) => one.init === null)) {
      edits.push([node.start, node.end, `{}${text.slice(node.start, node.end).replace(/[^\n]/g, '')}`]);
    } else {
      const ends = text[node.end - 1] === ';';
      edits.push([node.start, node.start + 3, `{ let ${HELPER} = (`]);
      edits.push([ends ? node.end - 1 : node.end, node.end, '); }']);
    }
  }
  function look(node, inHead) {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      for (const one of node) look(one, false);
      return;
    }
    if (typeof node.type !== 'string' || /Function|^Class/.test(node.type)) return;
    if (node.type === 'VariableDeclaration' && node.kind === 'var') declaration(node, inHead);
    for (const key of Object.keys(node)) {
      if (key !== 'type') look(node[key], (key === 'init' && node.type === 'ForStatement') || (key === 'left' && node.type.startsWith('For')));
    }
  }
  for (const node of tree.body) {
    if (node.type !== 'FunctionDeclaration') {
      look(node, false);
      continue;
    }
    const whole = text.slice(node.start, node.end);
    const { start, end, name } = node.id;
    names.add(name);
    functions.push({
      line: lineOf(node.start),
      text: `${strict ? "'use strict'; " : ''}${name} = ${whole.slice(0, start - node.start)}${whole.slice(end - node.start)}`,
    });
    edits.push([node.start, node.end, `;${whole.replace(/[^\n]/g, '')}`]);
  }
  edits.sort((a, b) => a[0] - b[0]);
  let out = '';
  let at = 0;
  for (const [start, end, by] of edits) {
    out += text.slice(at, start) + by;
    at = end;
  }
  return { text: out + text.slice(at), names: [...names], functions };
}

module.exports = { rewrite };
