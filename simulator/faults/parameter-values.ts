/** Allowed values of fault parameters. */
import { answerStatuses, isAnswerStatus, isHeaderValue } from '../server/http-syntax.ts'

type Read = { readonly value: number | string } | { readonly expected: string }
type Reader = (text: string) => Read

/** Longest delay of a timer. */
const msMax = 2 ** 31 - 1
/** Larger headers would be held in memory at once. */
const headerBytesMax = 100_000_000
const headersMax = 1_000_000

function number(expected: string, isFine: (value: number) => boolean): Reader {
  return text => {
    const value = /^\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : Number.NaN
    return isFine(value) ? { value } : { expected }
  }
}

const upTo = (most: number): Reader =>
  number(`a whole number from 0 to ${most}`, value => Number.isSafeInteger(value) && value <= most)

function oneOf(...words: string[]): Reader {
  const named = words.filter(word => word !== '').join(', ')
  const expected = words.includes('') ? `one of ${named}, or empty` : `one of ${named}`
  return text => (words.includes(text) ? { value: text } : { expected })
}

const header: Reader = text =>
  isHeaderValue(text) ? { value: text } : { expected: 'printable ASCII, since it is sent as a header' }

/** Readers by parameter name, for all faults. */
const general: Readonly<Record<string, Reader>> = {
  ms: number(`milliseconds from 0 to ${msMax}`, value => value >= 0 && value <= msMax),
  at: upTo(Number.MAX_SAFE_INTEGER),
  bytes: upTo(Number.MAX_SAFE_INTEGER),
  by: upTo(Number.MAX_SAFE_INTEGER),
  count: upTo(headersMax),
  code: number(answerStatuses, isAnswerStatus),
  p: number('a chance from 0 to 1', value => value >= 0 && value <= 1),
  how: oneOf('fin', 'rst'),
  when: oneOf('idle', 'next'),
  to: header,
  'retry-after': header,
  'retry-after-ms': header,
}

/** Readers for one fault's parameter that differs from the general one: `fault;parameter`. */
const special: Readonly<Record<string, Reader>> = {
  'huge-headers;bytes': upTo(headerBytesMax),
  'redirect;code': number(
    'a status from 300 to 399, but not 304',
    value => isAnswerStatus(value) && value >= 300 && value < 400,
  ),
  'flaky;code': number(`0 for a reset, or ${answerStatuses}`, value => value === 0 || isAnswerStatus(value)),
  'bad-usage;kind': oneOf('negative', 'huge', 'text', 'fraction', 'null', 'mixed'),
  '429;kind': oneOf('', 'quota'),
  'status;kind': oneOf('', 'quota', 'context-length', 'content-filter'),
}

/** The value, or a description of what is allowed. A test checks that every parameter has a reader. */
export function faultValue(fault: string, param: string, text: string): Read {
  const read = special[`${fault};${param}`] ?? general[param === 'token-ms' ? 'ms' : param]
  return read ? read(text) : { expected: 'left out: nothing reads it' }
}
