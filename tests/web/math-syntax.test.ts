/** What of a text of a model is a formula, and that a text that grows does not jump between readings. */
import { expect, test } from 'bun:test'
import { Marked } from 'marked'
import { formulas, lexWithFormulas } from '../../web/components/text/math-syntax.ts'

const markdown = new Marked(
  formulas(({ raw, tex, isDisplay, isOpen }) =>
    isOpen ? `{${raw.trim()}…}` : `{${isDisplay ? 'display ' : ''}${tex}}`,
  ),
  { gfm: true, breaks: true },
)
const html = (text: string, isGrowing = false): string =>
  markdown.parser(lexWithFormulas(markdown, text, isGrowing)).trim()
const line = (text: string): string => html(text).replace(/^<p>(.*)<\/p>$/s, '$1')

test('formulas of the four delimiters are found, and what is in them is not Markdown', () => {
  const cases: [text: string, shown: string][] = [
    ['so $x_1 * y_2 * z$ is', 'so {x_1 * y_2 * z} is'],
    ['so \\(a_1 \\le b_1\\), and', 'so {a_1 \\le b_1}, and'],
    ['then $$E = mc^2$$ holds', 'then {display E = mc^2} holds'],
    ['then \\[ x \\] holds', 'then {display x} holds'],
    ['**where $p^*$ is**, the $n$th, $k$s', '<strong>where {p^*} is</strong>, the {n}th, {k}s'],
    ['($x$)', '({x})'],
    ['$\\text{costs } \\$5$', '{\\text{costs } \\$5}'],
    ['$2 \\times 3 \\text{ apples}$', '{2 \\times 3 \\text{ apples}}'],
  ]
  for (const [text, shown] of cases) expect([text, line(text)]).toEqual([text, shown])
})

test('a formula on lines of its own is one block, in lists too, whatever its lines look like', () => {
  const cases: [text: string, shown: string][] = [
    ['Then\n\\[\na\n+ b\n\n= c\n\\]\nso', '<p>Then</p>\n{display a\n+ b\n\n= c}<p>so</p>'],
    ['$$\na \\\\\n- b\n$$', '{display a \\\\\n- b}'],
    ['$$x$$.', '{display x.}'],
    ['1. one\n   $$\n   x\n   $$\n2. two', '<ol>\n<li>one{display x}</li>\n<li>two</li>\n</ol>'],
  ]
  for (const [text, shown] of cases) expect([text, html(text)]).toEqual([text, shown])
})

test('money, variables of a shell, code and escaped brackets stay text', () => {
  const texts = [
    '$5 and $6',
    'between $5-$10, or $5/$6',
    'US$5 and AU$7',
    'pay $20 (not 30$)',
    '$1,000 plus $2,500.50',
    '$HOME/$USER and $PATH',
    'a $ b $ c',
    '5$ and 6$',
    '$$ and $$$',
  ]
  for (const text of texts) expect([text, line(text)]).toEqual([text, text])
  expect(line('a $x\ny$ b')).toBe('a $x<br>y$ b')
  expect(line('`$x$` and `\\(x\\)`')).toBe('<code>$x$</code> and <code>\\(x\\)</code>')
  expect(html('```sh\necho $a $b$\n```')).not.toContain('{')
  expect(line('\\$5 is $5')).toBe('$5 is $5')
  expect(line('\\[1\\] Smith')).toBe('[1] Smith')
})

test('of a text that grows, an open formula is its source, and a formula stays one', () => {
  expect(html('so \\(a_1 *b* c', true)).toBe('<p>so {\\(a_1 *b* c…}</p>')
  expect(html('so\n\n\\[\na\n\n- b', true)).toBe('<p>so</p>\n{\\[\na\n\n- b…}')
  // Behind a dollar a digit may come: "$a-$5".
  expect(html('so $a-$', true)).toBe('<p>so {$a-$…}</p>')
  expect(html('so $a-$5', true)).not.toContain('{')
  // An answer that ends so has no formula.
  expect(html('so \\(a *b* c')).toBe('<p>so (a <em>b</em> c</p>')
  const text =
    'Let $x_1 > 0$ cost $5 and $6; **then** \\(y = x_1\\):\n\n\\[\ny\n\n+ z\n\\]\n\n- $$a$$ and $b*c*d$ end\n- $9, $10\n\nend'
  let found = 0
  for (let length = 1; length <= text.length; length++) {
    const closed = html(text.slice(0, length), true).match(/\{[^{}…]*\}/g) ?? []
    // None that was shown is taken back.
    expect(closed.length).toBeGreaterThanOrEqual(found)
    found = closed.length
  }
  expect(found).toBe(5)
})
