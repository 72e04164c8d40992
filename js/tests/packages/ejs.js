const ejs = require('ejs');
const fs = require('fs'), os = require('os'), path = require('path');
console.log(ejs.render('<% for (const x of list) { %><li><%= x %></li><% } %><%- raw %>', { list: ['a', '<b>'], raw: '<i>' }));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ejs-')); fs.writeFileSync(path.join(folder, 'part.ejs'), 'part <%= n %>'); fs.writeFileSync(path.join(folder, 'main.ejs'), "<%- include('part', { n: 1 }) %>!");
ejs.renderFile(path.join(folder, 'main.ejs'), {}, (error, text) => { console.log(error, text); fs.rmSync(folder, { recursive: true }); });
ejs.render('<%= await p %>', { p: Promise.resolve('async') }, { async: true }).then(console.log);
const mustache = require('mustache'); console.log(mustache.render('{{#items}}{{name}},{{/items}}{{{raw}}}{{esc}}', { items: [{ name: 1 }, { name: 2 }], raw: '<', esc: '<' }));
