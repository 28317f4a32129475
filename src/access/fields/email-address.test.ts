import { expect, test } from 'bun:test'
import { emailAddress } from './checks.ts'

test('addresses of every script are taken, and what is none is refused', () => {
  for (const address of [
    'zoë+1@example.com',
    'ada@example.com',
    'jörg.müller@bücher.example',
    'अदा@उदाहरण.भारत',
    "o'neil@x.co",
  ])
    expect([address, emailAddress().safeParse(address).success]).toEqual([address, true])
  for (const text of [
    'zoë',
    'a b@example.com',
    'a@example',
    '.a@example.com',
    'a..b@example.com',
    'a@b@example.com',
    'a@-',
  ])
    expect([text, emailAddress().safeParse(text).success]).toEqual([text, false])
})
