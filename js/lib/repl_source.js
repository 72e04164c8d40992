// SPDX-License-Identifier: MIT
// What the REPL needs to know about a text before it is evaluated: is it whole, does it await, what does it declare.
'use strict';

const acorn = load('npm:acorn');
const options = { ecmaVersion: 'latest', sourceType: 'script', allowAwaitOutsideFunction: true, allowReturnOutsideFunction: false };

// Whether the text only lacks its end.
function isUnfinished(error, code) {
  if (/^Unterminated (template|comment)/.test(error.message)) return true;
  if (/^Unterminated string constant/.test(error.message)) return /\\$/.test(code);
  return error.pos >= code.length;
}

// Visit what is not inside of a function.
function walk(node, visit) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit);
    return;
  }
  if (typeof node.type !== 'string') return;
  visit(node);
  if (/Function|StaticBlock/.test(node.type)) return;
  for (const key of Object.keys(node)) {
    if (key !== 'type' && key !== 'loc') walk(node[key], visit);
  }
}
function namesOf(pattern, list = []) {
  switch (pattern?.type) {
    case 'Identifier': list.push(pattern.name); break;
    case 'ObjectPattern': for (const one of pattern.properties) namesOf(one.type === 'RestElement' ? one.argument : one.value, list); break;
    case 'ArrayPattern': for (const one of pattern.elements) namesOf(one, list); break;
    case 'AssignmentPattern': namesOf(pattern.left, list); break;
    case 'RestElement': namesOf(pattern.argument, list); break;
    default:
  }
  return list;
}

// { awaits, names, goesOn, error, excerpt }
function check(code) {
  const result = { awaits: false, names: [], goesOn: false, error: undefined, excerpt: '' };
  let tree;
  try {
    tree = acorn.parse(code, options);
  } catch (error) {
    result.error = error;
    result.goesOn = isUnfinished(error, code);
    if (error.loc !== undefined) {
      result.excerpt = `${code.split('\n')[error.loc.line - 1]}\n${' '.repeat(error.loc.column)}^\n\n`;
    }
    return result;
  }
  walk(tree.body, (node) => {
    if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await)) result.awaits = true;
  });
  for (const node of tree.body) {
    if (node.type === 'ClassDeclaration') result.names.push(node.id.name);
    if (node.type === 'VariableDeclaration' && node.kind !== 'var') {
      for (const one of node.declarations) namesOf(one.id, result.names);
    }
  }
  return result;
}

// "await" outside of a function: the text becomes the body of an async function that gives { value }, and what it declares is
// declared before it, because it has to outlive that function. (So a const that awaits can be assigned to.)
function rewriteAwait(code) {
  const tree = acorn.parse(code, options);
  const edits = []; // [start, end, text]
  const outer = { let: [], var: [] };
  const declare = (node, inLoopHead) => {
    const kind = node.kind === 'var' ? 'var' : 'let';
    for (const one of node.declarations) outer[kind].push(...namesOf(one.id));
    if (inLoopHead) {
      edits.push([node.start, node.declarations[0].id.start, '']);
      return;
    }
    const parts = node.declarations.map((one) => one.init === null
      ? (kind === 'let' ? `${code.slice(one.id.start, one.id.end)} = undefined` : 'undefined')
      : null);
    edits.push([node.start, node.declarations[0].id.start, 'void (']);
    node.declarations.forEach((one, i) => {
      edits.push([one.start, one.start, '(']);
      if (parts[i] !== null) edits.push([one.start, one.end, parts[i]]);
      edits.push([one.end, one.end, ')']);
    });
    const close = code[node.end - 1] === ';' ? node.end - 1 : node.end;
    edits.push([close, close, ');']);
  };
  for (const node of tree.body) {
    if (node.type === 'VariableDeclaration') declare(node, false);
    else if (node.type === 'ClassDeclaration') {
      outer.let.push(node.id.name);
      edits.push([node.start, node.start, `${node.id.name} = `]);
      edits.push([node.end, node.end, ';']);
    } else if (node.type === 'FunctionDeclaration') {
      outer.var.push(node.id.name);
      edits.push([node.end, node.end, `; this.${node.id.name} = ${node.id.name};`]);
    } else {
      walk(node, (inner) => {
        if (inner.type !== 'VariableDeclaration' || inner.kind !== 'var') return;
        const head = code.slice(node.start, inner.start);
        declare(inner, /for\s*(await\s*)?\(\s*$/.test(head));
      });
    }
  }
  const end = tree.body[tree.body.length - 1];
  if (end?.type === 'ExpressionStatement') {
    const close = code[end.end - 1] === ';' ? end.end - 1 : end.end;
    edits.push([end.start, end.start, 'return { value: (']);
    edits.push([close, close, ') };']);
  }
  let text = '';
  let at = 0;
  edits.map((edit, i) => [...edit, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[3] - b[3]).forEach(([from, to, put]) => {
    if (from < at) return;
    text += code.slice(at, from) + put;
    at = to;
  });
  text += code.slice(at);
  const before = (kind) => outer[kind].length === 0 ? '' : `${kind} ${[...new Set(outer[kind])].join(', ')}; `;
  return `${before('let')}${before('var')}(async () => { ${text}\nreturn { value: undefined }; })()`;
}

module.exports = { check, rewriteAwait };
