/* SPDX-License-Identifier: MIT */
/* The search field: lunr over the sections of all pages, which search-index.js brings along. Works from a folder without a server. */
(() => {
  const field = document.querySelector('#search');
  const list = document.querySelector('#found');
  let index;

  const build = () => lunr(function () {
    this.ref('id');
    this.field('heading', { boost: 8 });
    this.field('page', { boost: 3 });
    this.field('text');
    /* vigil_pool_submit is one word, and is also found by its parts. */
    this.tokenizer.separator = /[\s().,;:/"'`<>*-]+/;
    searchSections.forEach((section, id) => this.add({
      id,
      heading: `${section.heading} ${section.heading.replaceAll('_', ' ')}`,
      page: section.page,
      text: `${section.text} ${section.text.replaceAll('_', ' ')}`,
    }));
  });

  const find = (words) => {
    index ??= build();
    return index.query((query) => {
      for (const word of lunr.tokenizer(words)) {
        const term = word.toString();
        query.term(term, { boost: 10 });
        query.term(term, { boost: 3, wildcard: lunr.Query.wildcard.TRAILING });
        if (term.length > 4) query.term(term, { editDistance: 1 });
      }
    });
  };

  const show = () => {
    list.replaceChildren();
    const words = field.value.trim();
    list.hidden = words === '';
    if (list.hidden) return;
    const hits = find(words).slice(0, 12);
    for (const hit of hits) {
      const section = searchSections[hit.ref];
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = section.at;
      link.textContent = section.heading;
      const where = document.createElement('small');
      where.textContent = section.heading === section.page ? '' : section.page;
      item.append(link, where);
      list.append(item);
    }
    if (!hits.length) list.append(Object.assign(document.createElement('li'), { textContent: 'Nothing has these words.' }));
  };

  field.hidden = false;
  field.addEventListener('input', show);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { field.value = ''; show(); }
    if (event.key === 'Enter') list.querySelector('a')?.click();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target === field) return;
    event.preventDefault();
    field.focus();
  });
})();
