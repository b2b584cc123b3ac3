'use strict';
(function () {
  var tools = document.getElementById('tools');
  var flame = document.getElementById('flame');
  var search = document.getElementById('search');
  var found = document.getElementById('found');
  var slack = 1e-6;
  if (!tools || !flame) return;
  tools.hidden = false;

  var frames = Array.from(flame.querySelectorAll('.f'), function (element) {
    return {
      element: element,
      x: parseFloat(element.getAttribute('x')),
      width: parseFloat(element.getAttribute('width')),
      y: parseFloat(element.getAttribute('y')),
      name: element.querySelector('text').textContent.toLowerCase()
    };
  });

  function overlaps(one, other) {
    return one.x < other.x + other.width - slack && one.x + one.width > other.x + slack;
  }

  /* Makes a frame as wide as the graph; those below it, up to the root, too. */
  function zoom(to) {
    frames.forEach(function (frame) {
      var shown = overlaps(frame, to);
      var left = Math.max(frame.x, to.x), right = Math.min(frame.x + frame.width, to.x + to.width);
      frame.element.classList.toggle('up', shown && frame.y > to.y);
      if (!shown) {
        frame.element.setAttribute('display', 'none');
        return;
      }
      frame.element.removeAttribute('display');
      frame.element.setAttribute('x', (left - to.x) / to.width * 100 + '%');
      frame.element.setAttribute('width', (right - left) / to.width * 100 + '%');
    });
  }

  function reset() {
    zoom({ x: 0, width: 100, y: Infinity });
  }

  /* Frames and rows with the text in them; a frame below another one that has it counts once. */
  function mark() {
    var text = search.value.trim().toLowerCase();
    var hits = frames.filter(function (frame) {
      var hit = text !== '' && frame.name.includes(text);
      frame.element.classList.toggle('hit', hit);
      return hit;
    });
    hits.sort(function (one, other) { return one.x - other.x || other.width - one.width; });
    var sum = 0, end = 0;
    hits.forEach(function (frame) {
      var right = frame.x + frame.width;
      sum += Math.max(0, right - Math.max(end, frame.x));
      end = Math.max(end, right);
    });
    document.querySelectorAll('table.shares tbody tr').forEach(function (row) {
      row.hidden = text !== '' && !row.textContent.toLowerCase().includes(text);
    });
    found.textContent = text === '' ? '' : 'found in ' + sum.toFixed(2) + ' % of the samples';
  }

  function frameOf(event) {
    var element = event.target.closest('.f');
    return frames.find(function (frame) { return frame.element === element; });
  }

  flame.addEventListener('click', function (event) {
    var frame = frameOf(event);
    if (frame) zoom(frame);
  });
  flame.addEventListener('keydown', function (event) {
    var frame = frameOf(event);
    if (frame && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      zoom(frame);
    }
  });
  document.addEventListener('keydown', function (event) {
    if (event.key === 'Escape') reset();
  });
  document.getElementById('reset').addEventListener('click', reset);
  search.addEventListener('input', mark);
  tools.addEventListener('submit', function (event) { event.preventDefault(); });
})();
