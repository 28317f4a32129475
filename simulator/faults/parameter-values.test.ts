/** Invalid parameter values are refused before anything is sent, with a description of the valid ones. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { parseFault, UnknownFault } from './fault.ts'
import { faultKinds, startSimulator } from '../index.ts'
import type { Simulator } from '../index.ts'
import { chat, rawExchange } from '../testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 3 })
})
afterAll(() => simulator.stop())

const wrong: [string, string][] = [
  ['flaky;p=2', 'a chance from 0 to 1'],
  ['flaky;p=-0.1', 'a chance'],
  ['flaky;code=700', '0 for a reset'],
  ['flaky;p=', 'a chance'],
  ['429;kind=zzz', 'one of quota'],
  ['status;kind=quotta', 'context-length'],
  ['bad-usage;kind=none', 'mixed'],
  ['bad-usage;kind=', 'mixed'],
  ['status;code=99', 'from 200 to 599'],
  ['status;code=100', 'from 200'],
  ['status;code=204', 'not 204'],
  ['status;code=304', '304'],
  ['status;code=600', '599'],
  ['status;code=500.5', '200'],
  ['status=0', '200'],
  ['html-error;code=1000', '599'],
  ['redirect;code=200', 'from 300 to 399'],
  ['redirect;code=304', '304'],
  ['redirect;to=http://a/\r\nx: y', 'printable ASCII'],
  ['429;retry-after=a\r\nb: c', 'printable ASCII'],
  ['429;retry-after-ms=ü', 'printable ASCII'],
  ['reset-idle;how=foo', 'one of fin, rst'],
  ['reset-idle;when=later', 'one of idle, next'],
  ['cut-close-delimited;how=', 'fin, rst'],
  ['cut;at=1.5', 'a whole number'],
  ['cut;at=Infinity', 'a whole number'],
  ['cut;at=', 'a whole number'],
  ['cut;at', 'a whole number'],
  ['cut;at=0x3', 'a whole number'],
  ['slow;ms=1e300', 'milliseconds'],
  ['cut;token-ms=-1', 'milliseconds'],
  ['many-headers;count=1e9', '1000000'],
  ['huge-headers;bytes=1e12', '100000000'],
  ['cut;at=1;at=2', 'twice'],
  ['cut=1;at=2', 'twice'],
  ['cuut', 'did you mean "cut"?'],
  ['cut;byts=1', 'did you mean "bytes"?'],
]
for (const [spec, words] of wrong)
  test(`${JSON.stringify(spec)} is status 400`, async () => {
    expect(() => parseFault(spec)).toThrow(UnknownFault)
    const { text } = await rawExchange(simulator, chat(spec).replace('host: x', 'host: x\r\nconnection: close'))
    expect(text).toStartWith('HTTP/1.1 400 Bad Request\r\n')
    expect(JSON.parse(text.split('\r\n\r\n')[1]!).error.message).toContain(words)
  })

test('limits are inclusive', () => {
  const taken = [
    'flaky;p=0;code=0',
    'flaky;p=1;code=599',
    'status;code=200',
    'redirect;code=308',
    'slow;ms=0.5',
    'slow;ms=2147483647',
    'cut;at=0;bytes=0',
    '429;retry-after=;retry-after-ms=;kind=',
    '429;retry-after=Wed, 21 Oct 2099 07:28:00 GMT',
    'giant-event;bytes=1e9',
    'token-ms;ms=20',
    'status;code=500;kind=',
  ]
  for (const spec of taken) expect(parseFault(spec).spec).toBe(spec)
})

test('every parameter can be given its own default', () => {
  // The default is Infinity, which cannot be written as a number.
  for (const [name, { params }] of Object.entries(faultKinds))
    for (const [param, value] of Object.entries(params))
      if (value !== Infinity) expect(parseFault(`${name};${param}=${value}`).text(param)).toBe(String(value))
})
