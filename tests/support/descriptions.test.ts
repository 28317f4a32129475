/** What counts as a description that can be read alone. */
import { expect, test } from 'bun:test'
import { descriptionProblem } from './descriptions.ts'

test('a description of few words, or without a verb, is refused', () => {
  for (const text of ['', 'Of them.', 'The same.', 'Its address.', 'With `host`: over TLS.', 'Of `total` and `cost`.'])
    expect([text, descriptionProblem(text)]).toEqual([text, expect.stringContaining('fewer than 5 words')])
  for (const text of [
    'The address of the upstream up to its version.',
    'Requests a minute of every user.',
    'Limits of users without limits of their own.',
    'Names, patterns and groups of all models.',
    'Dollars for a token of output.',
    'The total cost of the calls at this provider.',
    'A part of the name or of the address, in any case.',
    'How many requests a minute.',
    'Files at an upstream, under ids of this gateway.',
  ])
    expect([text, descriptionProblem(text)]).toEqual([text, expect.stringContaining('has no verb')])
})

test('a sentence is taken, also one whose verb could be a noun', () => {
  for (const text of [
    'Limits the requests that a user makes in a minute.',
    'Names the team that pays for the call.',
    'How many seconds an answer is kept.',
    'Counts `calls` of models and files.',
    'The key that signs requests to the service.',
    'Each row costs at most this many dollars.',
    'The address of the service that the kind asks.',
    'Conversations of several turns share answers.',
  ])
    expect([text, descriptionProblem(text)]).toEqual([text, undefined])
})
