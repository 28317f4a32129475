/** Whose password is checked first when many wait. */
import { expect, test } from 'bun:test'
import { createPasswordHashing } from './password-hashing.ts'

test('who has not failed lately goes before those who have, and keeps a place where theirs are taken', async () => {
  const hashing = createPasswordHashing()
  const hash = await hashing.hash('correct horse battery')
  let checked = 0
  let refused = 0
  for (let at = 0; at < 200; at++)
    void hashing.verify('wrong', hash).then(
      () => checked++,
      () => refused++,
    )
  const order: string[] = []
  const arrives = (turn: 'known-browser' | 'first-try') =>
    hashing.verify('correct horse battery', hash, turn).then(isRight => void (isRight && order.push(turn)))
  await Promise.all([arrives('first-try'), arrives('known-browser')])
  expect(order).toEqual(['known-browser', 'first-try'])
  expect(checked).toBeLessThan(50)
  // A hundred wait, and those who are being checked.
  expect(refused).toBeWithin(90, 101)
})
