// SPDX-License-Identifier: MIT
// The source of an ES module, rewritten so that an engine without modules can run it as a function.
//
// The C API of the engine has no modules. So: imports become live references (`name` -> `$m0.name`), exports become
// getters, import() and import.meta become parameters. Everything is edited in place with a real parser's positions, so lines stay lines.
// The body is a generator that stops once after its getters are registered: then cycles see hoisted functions, as they
// must. With await at the top it is an async generator.
//
// Limits: the names `$m<N>`, `$x`, `$i`, `$meta`, `$await` are taken; a direct eval sees the rewritten names, not imported ones;
// Function.prototype.toString shows the rewritten text.
'use strict';

const acorn = load('npm:acorn');

class Scope {
  constructor(parent, isFunction) {
    this.parent = parent;
    this.isFunction = isFunction;
    this.names = new Set();
  }
  has(name) {
    for (let scope = this; scope !== null; scope = scope.parent) if (scope.names.has(name)) return true;
    return false;
  }
  functionScope() {
    let scope = this;
    while (!scope.isFunction && scope.parent) scope = scope.parent;
    return scope;
  }
}

function patternNames(node, add) {
  if (!node) return;
  switch (node.type) {
    case 'Identifier': add(node.name); break;
    case 'ObjectPattern': for (const one of node.properties) patternNames(one.type === 'RestElement' ? one.argument : one.value, add); break;
    case 'ArrayPattern': for (const one of node.elements) patternNames(one, add); break;
    case 'AssignmentPattern': patternNames(node.left, add); break;
    case 'RestElement': patternNames(node.argument, add); break;
    default:
  }
}

// var declarations and, at the top, what belongs to the function's whole body.
function hoistVars(node, add) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const one of node) hoistVars(one, add);
    return;
  }
  if (typeof node.type !== 'string') return;
  if (/Function|^Class/.test(node.type)) return;
  if (node.type === 'VariableDeclaration' && node.kind === 'var') for (const one of node.declarations) patternNames(one.id, add);
  for (const key of Object.keys(node)) {
    if (key !== 'type' && key !== 'start' && key !== 'end') hoistVars(node[key], add);
  }
}
function lexicalNames(statements, add) {
  for (const node of statements) {
    if (node.type === 'VariableDeclaration' && node.kind !== 'var') for (const one of node.declarations) patternNames(one.id, add);
    else if ((node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') && node.id) add(node.id.name);
  }
}

// Walks everything that is an expression or statement; `refer(node, context)` for each reference to a free name.
function walk(root, refer, special) {
  function visit(node, scope, context) {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      for (const one of node) visit(one, scope, context);
      return;
    }
    if (special(node)) {
      if (node.type === 'ImportExpression') {
        visit(node.source, scope);
        visit(node.options, scope);
      }
      return;
    }
    switch (node.type) {
      case 'Identifier':
        if (!scope.has(node.name)) refer(node, context);
        return;
      case 'FunctionDeclaration': case 'FunctionExpression': case 'ArrowFunctionExpression': {
        const inner = new Scope(scope, true);
        if (node.type === 'FunctionExpression' && node.id) inner.names.add(node.id.name);
        if (node.type !== 'ArrowFunctionExpression') inner.names.add('arguments');
        for (const param of node.params) patternNames(param, (name) => inner.names.add(name));
        if (node.body.type === 'BlockStatement') {
          hoistVars(node.body.body, (name) => inner.names.add(name));
          lexicalNames(node.body.body, (name) => inner.names.add(name));
        }
        for (const param of node.params) pattern(param, inner);
        if (node.body.type === 'BlockStatement') visit(node.body.body, inner);
        else visit(node.body, inner);
        return;
      }
      case 'ClassDeclaration': case 'ClassExpression': {
        const inner = new Scope(scope, false);
        if (node.id) inner.names.add(node.id.name);
        visit(node.superClass, inner);
        for (const member of node.body.body) {
          if (member.type === 'StaticBlock') {
            const block = new Scope(inner, true);
            hoistVars(member.body, (name) => block.names.add(name));
            lexicalNames(member.body, (name) => block.names.add(name));
            visit(member.body, block);
            continue;
          }
          if (member.computed) visit(member.key, inner);
          visit(member.value, inner);
        }
        return;
      }
      case 'BlockStatement': {
        const inner = new Scope(scope, false);
        lexicalNames(node.body, (name) => inner.names.add(name));
        visit(node.body, inner);
        return;
      }
      case 'SwitchStatement': {
        visit(node.discriminant, scope);
        const inner = new Scope(scope, false);
        for (const one of node.cases) lexicalNames(one.consequent, (name) => inner.names.add(name));
        for (const one of node.cases) {
          visit(one.test, inner);
          visit(one.consequent, inner);
        }
        return;
      }
      case 'ForStatement': case 'ForInStatement': case 'ForOfStatement': {
        const inner = new Scope(scope, false);
        const head = node.init ?? node.left;
        if (head?.type === 'VariableDeclaration') lexicalNames([head], (name) => inner.names.add(name));
        for (const key of ['init', 'left', 'test', 'update', 'right', 'body']) {
          if (node[key]?.type?.endsWith('Pattern')) pattern(node[key], inner);
          else visit(node[key], inner);
        }
        return;
      }
      case 'CatchClause': {
        const inner = new Scope(scope, false);
        patternNames(node.param, (name) => inner.names.add(name));
        if (node.param) pattern(node.param, inner);
        visit(node.body, inner);
        return;
      }
      case 'VariableDeclarator':
        pattern(node.id, scope);
        visit(node.init, scope);
        return;
      case 'AssignmentExpression':
        if (node.left.type.endsWith('Pattern')) pattern(node.left, scope);
        else visit(node.left, scope, 'write');
        visit(node.right, scope);
        return;
      case 'UpdateExpression':
        visit(node.argument, scope, 'write');
        return;
      case 'MemberExpression':
        visit(node.object, scope);
        if (node.computed) visit(node.property, scope);
        return;
      case 'CallExpression':
        visit(node.callee, scope, 'call');
        visit(node.arguments, scope);
        return;
      case 'TaggedTemplateExpression':
        visit(node.tag, scope, 'call');
        visit(node.quasi, scope);
        return;
      case 'Property':
        if (node.computed) visit(node.key, scope);
        if (node.shorthand && node.value.type === 'Identifier') {
          if (!scope.has(node.value.name)) refer(node.value, 'shorthand');
        } else {
          visit(node.value, scope);
        }
        return;
      case 'LabeledStatement':
        visit(node.body, scope);
        return;
      case 'BreakStatement': case 'ContinueStatement': case 'MetaProperty':
        return;
      default:
        for (const key of Object.keys(node)) {
          if (key !== 'type' && key !== 'start' && key !== 'end' && key !== 'loc') visit(node[key], scope);
        }
    }
  }
  // A pattern declares or assigns; only its defaults, computed keys and member targets are expressions.
  function pattern(node, scope) {
    if (!node) return;
    switch (node.type) {
      case 'Identifier':
        if (!scope.has(node.name)) refer(node, 'write');
        return;
      case 'ObjectPattern':
        for (const one of node.properties) {
          if (one.type === 'RestElement') {
            pattern(one.argument, scope);
          } else {
            if (one.computed) visit(one.key, scope);
            pattern(one.value, scope);
          }
        }
        return;
      case 'ArrayPattern':
        for (const one of node.elements) pattern(one, scope);
        return;
      case 'AssignmentPattern':
        pattern(node.left, scope);
        visit(node.right, scope);
        return;
      case 'RestElement':
        pattern(node.argument, scope);
        return;
      default:
        visit(node, scope);
    }
  }
  const top = new Scope(null, true);
  visit(root, top);
}

function syntaxError(error, file) {
  const made = new SyntaxError(error.message.replace(/ \(\d+:\d+\)$/, ''));
  Object.defineProperty(made, 'stack', {
    value: `SyntaxError: ${made.message}\n    at ${file}:${error.loc.line}:${error.loc.column + 1}`, writable: true, configurable: true,
  });
  return made;
}
function parse(text, file, sourceType) {
  try {
    return acorn.parse(text, {
      ecmaVersion: 'latest', sourceType, allowHashBang: true, allowReturnOutsideFunction: sourceType === 'script',
      allowAwaitOutsideFunction: sourceType === 'module',
    });
  } catch (error) {
    if (error.loc) throw syntaxError(error, file);
    throw error;
  }
}

class Edits {
  constructor(text) {
    this.text = text;
    this.list = [];
  }
  replace(start, end, by) { this.list.push([start, end, by]); }
  apply() {
    this.list.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let out = '';
    let at = 0;
    for (const [start, end, by] of this.list) {
      out += this.text.slice(at, start) + by;
      at = Math.max(at, end);
    }
    return out + this.text.slice(at);
  }
}
// Removes text but keeps its line breaks.
const blank = (text) => text.replace(/[^\n]/g, '');
const nameOf = (node) => (node.type === 'Literal' ? node.value : node.name);

// Where statements of a list begin that are expressions. A text that begins with a parenthesis may not be put there without a semicolon
// before it: the line above may have none.
function expressionStarts(body) {
  const starts = new Set();
  (function look(node) {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      for (const one of node) look(one);
      return;
    }
    if (typeof node.type !== 'string') return;
    const list = node.type === 'SwitchCase' ? node.consequent : node.type === 'BlockStatement' || node.type === 'StaticBlock' ? node.body : [];
    for (const one of list) if (one.type === 'ExpressionStatement') starts.add(one.start);
    for (const key of Object.keys(node)) if (key !== 'type') look(node[key]);
  })(body);
  for (const one of body) if (one.type === 'ExpressionStatement') starts.add(one.start);
  return starts;
}
// The parenthesis before a function's parameters, behind its keyword and comments.
function parenthesisOf(text, at) {
  for (; text[at] !== '('; at++) {
    if (text.startsWith('/*', at)) at = text.indexOf('*/', at) + 1;
    else if (text.startsWith('//', at)) at = text.slice(at).search(/[\n\r\u2028\u2029]/) + at;
  }
  return at;
}

// What awaits outside of every function: [node, parent], and whether a loop does.
function topAwaits(body) {
  const awaits = [];
  let loops = false;
  (function look(node, parent) {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      for (const one of node) look(one, parent);
      return;
    }
    if (typeof node.type !== 'string' || node.type === 'StaticBlock') return;
    if (/Function/.test(node.type)) return;
    if (node.type === 'PropertyDefinition' || node.type === 'MethodDefinition') {
      if (node.computed) look(node.key, node);
      return;
    }
    if (node.type === 'AwaitExpression') awaits.push([node, parent]);
    if (node.type === 'ForOfStatement' && node.await) loops = true;
    for (const key of Object.keys(node)) if (key !== 'type') look(node[key], node);
  })(body, undefined);
  return { awaits, loops };
}
// As long as a word as `await`, so that columns stay what they are; with parentheses only where a yield needs them.
function yieldInstead([node, parent], text, edits, starts) {
  const word = node.start + 5;
  const whole = parent?.type === 'ExpressionStatement' || (parent?.type === 'VariableDeclarator' && parent.init === node) ||
    (parent?.type === 'AssignmentExpression' && parent.right === node);
  if (whole && !/[\n\r\u2028\u2029]/.test(text.slice(word, node.argument.start))) {
    edits.replace(node.start, word, 'yield');
    return;
  }
  edits.replace(node.start, word, starts.has(node.start) ? ';(yield (' : '(yield (');
  edits.replace(node.end, node.end, '))');
}

// `await x` -> `await $await( x)`: see context.js.
function waitThrough(node, edits, name) {
  edits.replace(node.start + 5, node.start + 5, ` ${name}(`);
  edits.replace(node.end, node.end, ')');
}

// { code, requests: [specifier], imports: [[request, name]], exports, reexports: [[name, request, their]], stars: [request], isAsync, loops }
//
// The body becomes a generator that first says what is exported, and goes on when it is evaluated. An await at the top is a yield, so that
// evaluation begins at once and goes on where Node would; with `for await` at the top it is an async generator, which begins a little later.
function transformModule(text, file) {
  const tree = parse(text, file, 'module');
  const edits = new Edits(text);
  const requests = [];
  const numberOf = (source) => {
    let at = requests.indexOf(source);
    if (at < 0) at = requests.push(source) - 1;
    return at;
  };
  const bound = new Map(); // local name -> expression
  const imported = new Map(); // local name -> [request, their name]
  const imports = [];
  const getters = new Map(); // exported name -> expression
  const reexports = [];
  const stars = [];
  const later = []; // export { local as name }
  let tail = '';
  let defaultEnd = -1;
  const starts = expressionStarts(tree.body);
  // A declaration ends what stands before it, also when it is gone.
  const gone = (node) => edits.replace(node.start, node.end, `;${blank(text.slice(node.start, node.end))}`);

  for (const node of tree.body) {
    switch (node.type) {
      case 'ImportDeclaration': {
        const at = numberOf(node.source.value);
        for (const one of node.specifiers) {
          if (one.type === 'ImportNamespaceSpecifier') {
            bound.set(one.local.name, `$m${at}`);
          } else {
            const name = one.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(one.imported);
            imports.push([at, name]);
            imported.set(one.local.name, [at, name]);
            bound.set(one.local.name, /^[A-Za-z_$][\w$]*$/.test(name) ? `$m${at}.${name}` : `$m${at}[${JSON.stringify(name)}]`);
          }
        }
        gone(node);
        break;
      }
      case 'ExportAllDeclaration': {
        const at = numberOf(node.source.value);
        if (node.exported) getters.set(nameOf(node.exported), `$m${at}`);
        else stars.push(at);
        gone(node);
        break;
      }
      case 'ExportNamedDeclaration':
        if (node.source) {
          const at = numberOf(node.source.value);
          for (const one of node.specifiers) {
            imports.push([at, nameOf(one.local)]);
            reexports.push([nameOf(one.exported), at, nameOf(one.local)]);
          }
          gone(node);
        } else if (node.declaration) {
          const add = (name) => getters.set(name, name);
          if (node.declaration.type === 'VariableDeclaration') {
            for (const one of node.declaration.declarations) patternNames(one.id, add);
          } else {
            add(node.declaration.id.name);
          }
          edits.replace(node.start, node.declaration.start, blank(text.slice(node.start, node.declaration.start)));
        } else {
          for (const one of node.specifiers) later.push([nameOf(one.exported), nameOf(one.local)]);
          gone(node);
        }
        break;
      case 'ExportDefaultDeclaration': {
        const inner = node.declaration;
        if ((inner.type === 'FunctionDeclaration' || inner.type === 'ClassDeclaration') && inner.id) {
          getters.set('default', inner.id.name);
          edits.replace(node.start, inner.start, blank(text.slice(node.start, inner.start)));
        } else if (inner.type === 'FunctionDeclaration') {
          getters.set('default', '$default');
          const paren = parenthesisOf(text, inner.start);
          edits.replace(node.start, inner.start, blank(text.slice(node.start, inner.start)));
          edits.replace(paren, paren, ' $default');
          tail = 'Object["defineProperty"]($default, "name", { value: "default", configurable: true });';
        } else {
          getters.set('default', '$default');
          edits.replace(node.start, inner.start, `const $default = $named(${blank(text.slice(node.start, inner.start))}`);
          defaultEnd = inner.end;
        }
        break;
      }
      default:
    }
  }
  // An import that is exported again comes from where it came from.
  for (const [name, local] of later) {
    const from = imported.get(local);
    if (from === undefined) getters.set(name, bound.get(local) ?? local);
    else reexports.push([name, ...from]);
  }

  const { awaits, loops } = topAwaits(tree.body);
  const atTop = new Set(loops ? [] : awaits.map(([node]) => node));
  walk(tree.body.filter((node) => node.type !== 'ImportDeclaration' && node.type !== 'ExportAllDeclaration' &&
                                  !(node.type === 'ExportNamedDeclaration' && !node.declaration)),
    (node, context) => {
      const by = bound.get(node.name);
      if (by === undefined) return;
      if (context === 'write') {
        edits.replace(node.start, node.end, `$constant(${JSON.stringify(node.name)}).value`);
      } else if (context === 'shorthand') {
        edits.replace(node.start, node.end, `${node.name}: ${by}`);
      } else if (context === 'call' && by.includes('.')) {
        edits.replace(node.start, node.end, starts.has(node.start) ? `;(0, ${by})` : `(0, ${by})`);
      } else {
        edits.replace(node.start, node.end, by);
      }
    },
    (node) => {
      if (node.type === 'ImportExpression') {
        edits.replace(node.start, node.start + 6, '$i');
        return true;
      }
      if (node.type === 'AwaitExpression' && !atTop.has(node)) waitThrough(node, edits, '$await');
      if (node.type === 'MetaProperty' && node.meta.name === 'import') edits.replace(node.start, node.end, '$meta');
      return false;
    });

  const isAsync = awaits.length > 0 || loops;
  if (!loops) for (const one of awaits) yieldInstead(one, text, edits, starts);
  if (defaultEnd >= 0) edits.replace(defaultEnd, defaultEnd, ');'); // behind what ends there too

  const parameters = ['$x', '$i', '$meta', '$constant', '$named', '$await', ...requests.map((_, i) => `$m${i}`)].join(', ');
  const table = [...getters].map(([name, expression]) => `${JSON.stringify(name)}: () => ${expression}`).join(', ');
  const head = `(${loops ? 'async ' : ''}function* (${parameters}) { 'use strict'; $x({ ${table} }); yield; ${tail}`;
  let body = edits.apply();
  if (body.startsWith('#!')) body = `//${body}`;
  return { code: `${head}${body}\n})`, head: head.length, requests, imports, exports: [...getters.keys()], reexports, stars, isAsync, loops };
}

// A script (CommonJS): import() has to be led to us, and what is awaited where contexts are used.
function transformScript(text, file, name, awaits) {
  const tree = parse(text, file, 'script');
  const edits = new Edits(text);
  (function look(node) {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      for (const one of node) look(one);
      return;
    }
    if (node.type === 'ImportExpression') edits.replace(node.start, node.start + 6, name);
    if (awaits !== undefined && node.type === 'AwaitExpression') waitThrough(node, edits, awaits);
    for (const key of Object.keys(node)) if (key !== 'type') look(node[key]);
  })(tree);
  return edits.apply();
}

module.exports = { transformModule, transformScript };
