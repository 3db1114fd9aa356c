(function () {
  'use strict';
  var root = document.documentElement;

  function make(name, text) {
    var e = document.createElement(name);
    if (text) e.textContent = text;
    return e;
  }

  function value(row, column) {
    var cell = row.cells[column];
    if (!cell) return '';
    var v = cell.getAttribute('data-v');
    return v === null ? cell.textContent : v === '' ? NaN : Number(v);
  }

  /* Cells without a figure stay last, whatever the direction. */
  function compare(a, b, sign) {
    if (typeof a === 'number' && typeof b === 'number') {
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return sign * (a - b);
    }
    return sign * String(a).localeCompare(String(b));
  }

  function sortable(table) {
    var heads = table.tHead.rows[0].cells, body = table.tBodies[0];
    Array.prototype.forEach.call(heads, function (head, column) {
      var button = make('button', head.textContent);
      button.type = 'button';
      head.textContent = '';
      head.appendChild(button);
      button.addEventListener('click', function () {
        var down = head.getAttribute('aria-sort') === 'ascending';
        Array.prototype.forEach.call(heads, function (h) { h.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        Array.prototype.slice.call(body.rows).map(function (row, i) { return { row: row, i: i, v: value(row, column) }; })
          .sort(function (x, y) { return compare(x.v, y.v, down ? -1 : 1) || x.i - y.i; })
          .forEach(function (x) { body.appendChild(x.row); });
      });
    });
    if (body.rows.length < 12) return;
    var tools = make('p'), label = make('label', 'Find '), input = make('input');
    tools.className = 'tools';
    input.type = 'search';
    label.appendChild(input);
    tools.appendChild(label);
    table.parentNode.parentNode.insertBefore(tools, table.parentNode);
    input.addEventListener('input', function () {
      var word = input.value.toLowerCase();
      Array.prototype.forEach.call(body.rows, function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(word) < 0;
      });
    });
  }

  Array.prototype.forEach.call(document.querySelectorAll('table.sort'), sortable);

  /* The cell of a confusion picture under the pointer, in words. */
  Array.prototype.forEach.call(document.querySelectorAll('figure.confusion'), function (figure) {
    var image = figure.querySelector('image'), said = figure.querySelector('output');
    var data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    var names = {}, counts = {}, n = data.classes;
    Array.prototype.forEach.call(document.querySelectorAll('#' + data.table + ' tbody tr'), function (row) {
      names[row.getAttribute('data-k')] = row.cells[0].textContent;
    });
    data.cells.forEach(function (c) { counts[c[0] * n + c[1]] = c[2]; });
    image.addEventListener('mousemove', function (event) {
      var box = image.getBoundingClientRect();
      var t = Math.min(n - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * n)));
      var p = Math.min(n - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * n)));
      said.textContent = names[t] + ' taken for ' + names[p] + ': ' + (counts[t * n + p] || 0);
    });
  });

  var theme = make('button', 'Light or dark');
  theme.id = 'theme';
  theme.type = 'button';
  theme.addEventListener('click', function () {
    var now = root.getAttribute('data-theme') ||
      (window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    root.setAttribute('data-theme', now === 'dark' ? 'light' : 'dark');
  });
  document.querySelector('header').insertBefore(theme, document.querySelector('header').firstChild);
})();
