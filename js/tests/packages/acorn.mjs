import * as acorn from 'acorn';
import { tokenizer } from 'acorn';
const tree = acorn.parse('const f = async (a, {b = 1}) => { await a?.b ?? 2n; }; class A { #x = /r/v; static { } }', { ecmaVersion: 'latest' });
console.log(tree.body.map((n) => n.type), JSON.stringify(tree).length);
console.log([...tokenizer('a + `t${1}`', { ecmaVersion: 2022 })].map((t) => t.type.label));
try { acorn.parse('let a = ;', { ecmaVersion: 2022 }); } catch (e) { console.log(e.message, e.pos, e.loc); }
