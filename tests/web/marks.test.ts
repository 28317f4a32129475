/** What a guardrail masked in a text is found again by its placeholders. */
import { expect, test } from 'bun:test'
import { marksOf } from '../../web/pages/guardrails/marks.ts'

/** `a[b:NAME]c` */
const shown = (text: string, masked: string) =>
  marksOf(text, masked)
    .map(one => (one.name === null ? one.text : `<${one.text}:${one.name}>`))
    .join('')

test('masked pieces are marked with their kind, wherever they stand', () => {
  const cases: [text: string, masked: string, marked: string][] = [
    ['Mail a@b.c today', 'Mail [EMAIL_ADDRESS_1] today', 'Mail <a@b.c:EMAIL_ADDRESS> today'],
    ['a@b.c', '[EMAIL_ADDRESS_1]', '<a@b.c:EMAIL_ADDRESS>'],
    ['a@b.c and a@b.c', '[EMAIL_ADDRESS_1] and [EMAIL_ADDRESS_1]', '<a@b.c:EMAIL_ADDRESS> and <a@b.c:EMAIL_ADDRESS>'],
    ['x 123-45-6789', 'x [US_SSN]', 'x <123-45-6789:US_SSN>'],
    ['12', '[A_1][B_1]', '<12:A, B>'],
    ['nothing', 'nothing', 'nothing'],
    // A placeholder that stood there before is no find.
    ['see [NOTE_1] of a@b.c', 'see [NOTE_1] of [EMAIL_ADDRESS_1]', 'see [NOTE_1] of <a@b.c:EMAIL_ADDRESS>'],
    // A guardrail that writes something else: the text stays whole.
    ['one', 'another [A_1]', 'one'],
  ]
  for (const [text, masked, marked] of cases) expect([text, shown(text, masked)]).toEqual([text, marked])
})
