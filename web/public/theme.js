// Before the first paint: the theme that the person has chosen here. lib/theme.ts changes it.
try {
  var chosen = localStorage.getItem('modelgate.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
} catch (_) {}
