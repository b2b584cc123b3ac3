'use strict';
/* Headings that sort their table: numbers from the largest, texts from the first, then the other way, then as it was. */
(function () {
  var units = { ns: 1e-9, 'µs': 1e-6, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, kHz: 1e3, MHz: 1e6, GHz: 1e9, k: 1e3, M: 1e6, G: 1e9, KiB: 1024, MiB: 1048576 };

  /* The cell of a row below a heading; a cell over several columns, which says why there are no numbers, is none. */
  function cell(row, column) {
    for (var i = 0, at = 0; i < row.cells.length; at += row.cells[i].colSpan, i++)
      if (at <= column && column < at + row.cells[i].colSpan)
        return row.cells[i].classList.contains('over') ? null : row.cells[i];
    return null;
  }

  /* What is drawn in a cell has a text of its own. */
  function text(at) {
    return Array.from(at ? at.childNodes : []).filter(function (node) { return node.nodeType === 3; })
      .map(function (node) { return node.data; }).join('').trim();
  }

  function number(shown) {
    var found = /([-−]?)(\d[\d,]*(?:\.\d+)?)\s*(\S*)/.exec(shown);
    if (!found) return null;
    return (found[1] ? -1 : 1) * parseFloat(found[2].replace(/,/g, '')) * (units[found[3]] || 1);
  }

  document.querySelectorAll('table:not(.code):not(.conditions)').forEach(function (table) {
    var body = table.tBodies[0], rows = Array.from(body.rows);
    if (rows.length < 2 || body.querySelector('[scope=rowgroup]')) return;

    table.querySelectorAll('thead th').forEach(function (heading) {
      var column = heading.cellIndex, numbers = heading.classList.contains('n');
      var keys = new Map(rows.map(function (row) {
        var shown = text(cell(row, column));
        return [row, shown === '' ? null : numbers ? number(shown) : shown];
      }));
      if (rows.every(function (row) { return keys.get(row) === null; })) return;

      var orders = numbers ? ['descending', 'ascending'] : ['ascending', 'descending'];
      var button = document.createElement('button');
      button.type = 'button';
      button.append.apply(button, Array.from(heading.childNodes));
      heading.append(button);
      button.addEventListener('click', function () {
        var order = orders[orders.indexOf(heading.getAttribute('aria-sort')) + 1];
        table.querySelectorAll('thead th').forEach(function (other) { other.removeAttribute('aria-sort'); });
        if (order) heading.setAttribute('aria-sort', order);
        var sorted = !order ? rows : rows.slice().sort(function (one, other) {
          var a = keys.get(one), b = keys.get(other);
          if (a === null || b === null) return (a === null) - (b === null);
          return (numbers ? a - b : a.localeCompare(b)) * (order === 'ascending' ? 1 : -1);
        });
        body.append.apply(body, sorted);
      });
    });
  });
})();
