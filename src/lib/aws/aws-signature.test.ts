/** Signature Version 4 against AWS's published vectors ("aws-sig-v4-test-suite") and the paths of Bedrock. */
import { describe, expect, test } from 'bun:test'
import { signAwsCall } from './aws-signature.ts'
import type { SignedCall } from './aws-signature.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const scope = { region: 'us-east-1', service: 'service' }
const epochMs = Date.UTC(2015, 7, 30, 12, 36)
const root = 'https://example.amazonaws.com/'
const get = (url: string, headers: Record<string, string> = {}): SignedCall => ({
  method: 'GET',
  url,
  headers,
  body: [],
})
const post = (headers: Record<string, string> = {}, body = ''): SignedCall => ({
  method: 'POST',
  url: root,
  headers,
  body: [Buffer.from(body)],
})
const signature = (headers: Record<string, string>) => headers.authorization!.split('Signature=')[1]!

const vanilla = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

test.each([
  ['get-vanilla', get(root), vanilla],
  ['normalize-path/get-relative', get(`${root}example/..`), vanilla],
  ['normalize-path/get-slash-dot-slash', get(`${root}./`), vanilla],
  ['normalize-path/get-slash', get(`${root}/`), vanilla],
  [
    'get-vanilla-query-order-key-case',
    get(`${root}?Param2=value2&Param1=value1`),
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-unreserved',
    get(`${root}-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz`),
    '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  ],
  ['post-vanilla', post(), '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'post-header-key-sort',
    post({ 'My-Header1': 'value1' }),
    'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  ],
  [
    'post-x-www-form-urlencoded',
    post(form, 'Param1=value1'),
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
])('%s', (_, call, expected) => {
  expect(signature(signAwsCall(call, credentials, scope, epochMs))).toBe(expected)
})

test('the example of the guide: ListUsers of IAM', () => {
  const url = 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  expect(signAwsCall(get(url, headers), credentials, { region: 'us-east-1', service: 'iam' }, epochMs)).toEqual({
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, ' +
      'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  })
})

describe('Bedrock: names with colons and slashes in the path (signatures of the library aws4fetch 1.0.20)', () => {
  const bedrock = { region: 'us-east-1', service: 'bedrock' }
  const host = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/'
  const call = (path: string): SignedCall => ({
    method: 'POST',
    url: host + path,
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from('{"a"'), Buffer.from(':1}')],
  })

  test('a model id', () => {
    const headers = signAwsCall(
      call('anthropic.claude-3-haiku-20240307-v1%3A0/converse'),
      credentials,
      bedrock,
      epochMs,
    )
    expect(signature(headers)).toBe('0c70a227e6ddbb2a912ba9cff13cfc09ea63f8a804f58da3ef19ece0d87d2abe')
  })

  test('an ARN, with temporary credentials', () => {
    const path = `${encodeURIComponent('arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc')}/converse-stream`
    const headers = signAwsCall(call(path), { ...credentials, sessionToken: 'TOKEN==' }, bedrock, epochMs)
    expect(headers['x-amz-security-token']).toBe('TOKEN==')
    expect(headers.authorization).toContain('SignedHeaders=content-type;host;x-amz-date;x-amz-security-token')
    expect(signature(headers)).toBe('83f91b383a0fb4c7c8245b031b70102dd3e94193475ba5f72214e0dc4832a375')
  })

  test('a body, a path, a second, a region: each is part of it', () => {
    const path = 'm/converse'
    const calls = [
      signAwsCall(call(path), credentials, bedrock, epochMs),
      signAwsCall({ ...call(path), body: [Buffer.from('{"a":2}')] }, credentials, bedrock, epochMs),
      signAwsCall(call('m/invoke'), credentials, bedrock, epochMs),
      signAwsCall(call(path), credentials, bedrock, epochMs + 1000),
      signAwsCall(call(path), credentials, { ...bedrock, region: 'eu-west-1' }, epochMs),
      signAwsCall({ ...call(path), url: 'http://localhost:8080/model/m/converse' }, credentials, bedrock, epochMs),
    ]
    expect(new Set(calls.map(signature)).size).toBe(calls.length)
  })
})
