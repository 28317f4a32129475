/** Bedrock: addresses, signatures, embeddings, errors, and the configuration that leads there. */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import type { Target } from '../../core/provider.ts'
import type { EmbeddingsRequest } from '../../core/hub/embeddings.ts'
import { readSettings } from '../../config/read-settings.ts'
import { signAwsCall } from '../../lib/aws/aws-signature.ts'
import { Secret } from '../../lib/secret.ts'
import { providers } from '../index.ts'
import { bedrock } from './index.ts'

const titan2 = 'amazon.titan-embed-text-v2:0'
const target = (
  model: string,
  options: Record<string, unknown> = { aws_region_name: 'eu-west-1' },
  more: Partial<Target> = {},
): Target => targetOf(bedrock, { model, options, apiKey: undefined, ...more })

describe('addresses', () => {
  const urlOf = (aim: Target, stream = false) => bedrock.chat!.request(chatRequest({ stream }), aim).head.url
  const host = 'https://bedrock-runtime.eu-west-1.amazonaws.com/model'
  test.each([
    [
      'a model',
      target('anthropic.claude-3-haiku-20240307-v1:0'),
      `${host}/anthropic.claude-3-haiku-20240307-v1%3A0/converse`,
    ],
    [
      'an ARN',
      target('arn:aws:bedrock:eu-west-1:1:inference-profile/eu.x.y'),
      `${host}/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.x.y/converse`,
    ],
    ["LiteLLM's prefix", target('converse/amazon.nova-pro-v1:0'), `${host}/amazon.nova-pro-v1%3A0/converse`],
    [
      'an address of its own',
      target('m', {}, { baseUrl: 'http://vpce.internal' }),
      'http://vpce.internal/model/m/converse',
    ],
    [
      'another host of AWS',
      target('m', {}, { baseUrl: 'https://bedrock-runtime-fips.us-east-1.amazonaws.com' }),
      'https://bedrock-runtime-fips.us-east-1.amazonaws.com/model/m/converse',
    ],
  ])('%s', (_, aim, url) => {
    expect(urlOf(aim)).toBe(url)
  })

  test('streams are another action; names that are none and regions that are none go nowhere', () => {
    expect(urlOf(target('m'), true)).toBe(`${host}/m/converse-stream`)
    for (const name of ['..', '../x', '', 'a b', 'ü', `a${'b'.repeat(3000)}`])
      expect(() => urlOf(target(name))).toThrow('neither a Bedrock model id nor an ARN')
    for (const region of [undefined, 'evil.example/x', 'us-east-1.evil'])
      expect(() => urlOf(target('m', { aws_region_name: region }))).toThrow('no AWS region')
  })
})

describe('signatures', () => {
  const epochMs = Date.UTC(2015, 7, 30, 12, 36)
  const options = {
    aws_region_name: 'us-east-1',
    aws_access_key_id: 'AKIDEXAMPLE',
    aws_secret_access_key: new Secret('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'),
  }
  const headersOf = (aim: Target) => {
    const { head } = bedrock.chat!.request(chatRequest(), aim)
    return bedrock.authorize!({ method: 'POST', ...head, body: [Buffer.from('{"a":1}')] }, aim, { epochMs })
  }

  test('cover what the service reads, and nothing that changes on the way', () => {
    const aim = target('anthropic.claude-3-haiku-20240307-v1:0', options, { headers: { 'x-team': 'a' } })
    // The signature of aws4fetch 1.0.20 for the same call.
    expect(headersOf(aim)).toEqual({
      'x-amz-date': '20150830T123600Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/bedrock/aws4_request, ' +
        'SignedHeaders=content-type;host;x-amz-date, ' +
        'Signature=0c70a227e6ddbb2a912ba9cff13cfc09ea63f8a804f58da3ef19ece0d87d2abe',
    })
    const own = { ...aim, headers: { 'x-amzn-bedrock-trace': 'ENABLED' } }
    expect(headersOf(own).authorization).toContain('SignedHeaders=content-type;host;x-amz-date;x-amzn-bedrock-trace,')
  })

  test('temporary credentials; the region of the host', () => {
    const { aws_region_name: _, ...keys } = options
    const aim = target(
      'm',
      { ...keys, aws_session_token: new Secret('TOKEN==') },
      { baseUrl: 'https://bedrock-runtime.us-west-2.amazonaws.com' },
    )
    expect(headersOf(aim)).toMatchObject({ 'x-amz-security-token': 'TOKEN==' })
    const call = {
      method: 'POST',
      url: 'https://bedrock-runtime.us-west-2.amazonaws.com/model/m/converse',
      headers: { 'content-type': 'application/json' },
      body: [Buffer.from('{"a":1}')],
    }
    const credentials = {
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      sessionToken: 'TOKEN==',
    }
    expect(headersOf(aim)).toEqual(signAwsCall(call, credentials, { region: 'us-west-2', service: 'bedrock' }, epochMs))
  })

  test('an API key is a header instead; nothing at all is an error with a remedy', () => {
    const keyed = target('m', { aws_region_name: 'us-east-1' }, { apiKey: new Secret('bedrock-api-key-x') })
    expect(bedrock.chat!.request(chatRequest(), keyed).head.headers).toMatchObject({
      authorization: 'Bearer bedrock-api-key-x',
    })
    expect(headersOf(keyed)).toEqual({})
    expect(() => headersOf(target('m'))).toThrow('its operator gives `api_key`, or `aws_access_key_id`')
  })
})

describe('embeddings', () => {
  const embeddingsRequest = (
    inputs: EmbeddingsRequest['inputs'],
    more: Partial<EmbeddingsRequest> = {},
  ): EmbeddingsRequest => ({
    model: 'm',
    inputs,
    encoding: 'float',
    extra: { format: 'openai-embeddings', fields: {} },
    ...more,
  })
  const sent = (model: string, request: EmbeddingsRequest) => {
    const { head, body, dropped } = bedrock.embeddings!.request(request, target(model))
    return { action: head.url.split('/').at(-1), body, dropped }
  }

  test('Titan: one text a call, settings from version 2 on', () => {
    const asked = embeddingsRequest(['a'], {
      dimensions: 256,
      user: 'u',
      extra: { format: 'x', fields: { normalize: false, other: 1 } },
    })
    expect(sent(titan2, asked)).toEqual({
      action: 'invoke',
      body: { inputText: 'a', dimensions: 256, normalize: false },
      dropped: ['other', 'user'],
    })
    expect(sent('amazon.titan-embed-text-v1', asked)).toEqual({
      action: 'invoke',
      body: { inputText: 'a' },
      dropped: ['other', 'user', 'dimensions', 'normalize'],
    })
    expect(() => sent(titan2, embeddingsRequest([[1, 2]]))).toThrow('text instead of token ids')
    const body = { embedding: [0.5, -1], inputTextTokenCount: 3, embeddingsByType: { float: [0.5, -1] } }
    expect(bedrock.embeddings!.result(body, embeddingsRequest(['a']))).toEqual({
      vectors: [Float32Array.from([0.5, -1])],
      usage: { inputTokens: 3, outputTokens: 0 },
    })
  })

  test('Cohere: several texts, its tokens counted in a header', () => {
    const asked = embeddingsRequest(['a', 'b'], {
      dimensions: 512,
      extra: { format: 'x', fields: { input_type: 'search_query', priority: 1 } },
    })
    const body = { texts: ['a', 'b'], input_type: 'search_query', embedding_types: ['float'] }
    expect(sent('cohere.embed-english-v3', asked)).toEqual({
      action: 'invoke',
      body,
      dropped: ['priority', 'dimensions'],
    })
    expect(sent('us.cohere.embed-v4:0', asked)).toEqual({
      action: 'invoke',
      body: { ...body, output_dimension: 512 },
      dropped: ['priority'],
    })
    const answer = {
      id: 'x',
      response_type: 'embeddings_by_type',
      embeddings: {
        float: [
          [1, 2],
          [3, 4],
        ],
      },
      texts: ['a', 'b'],
    }
    const vectors = [Float32Array.from([1, 2]), Float32Array.from([3, 4])]
    const head = { header: (name: string) => (name === 'x-amzn-bedrock-input-token-count' ? '9' : undefined) }
    expect(bedrock.embeddings!.result(answer, asked, head)).toEqual({
      vectors,
      usage: { inputTokens: 9, outputTokens: 0 },
    })
    expect(
      bedrock.embeddings!.result(
        {
          ...answer,
          embeddings: [
            [1, 2],
            [3, 4],
          ],
        },
        asked,
      ),
    ).toEqual({ vectors, usage: { inputTokens: 0, outputTokens: 0 } })
  })

  test.each([[{}], [null], [{ embedding: 'x' }], [{ embedding: [] }], [{ embeddings: { float: [[1]] } }]])(
    '%j is no answer',
    body => {
      expect(() => bedrock.embeddings!.result(body, embeddingsRequest(['a', 'b']))).toThrow()
    },
  )

  test('other models make none', () => {
    expect(() => sent('amazon.nova-pro-v1:0', embeddingsRequest(['a']))).toThrow('makes no embeddings here')
  })
})

test('tokens are counted for the model behind a profile', () => {
  const { head, body } = bedrock.countTokens!.request(
    chatRequest({ maxOutputTokens: 5 }),
    target('us.anthropic.claude-sonnet-4-5-20250929-v1:0'),
  )
  expect([head.url.split('/model/')[1], JSON.parse(JSON.stringify(body))]).toEqual([
    'anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens',
    { input: { converse: { messages: [{ role: 'user', content: [{ text: 'hi' }] }] } } },
  ])
  expect(bedrock.countTokens!.result({ inputTokens: 8 }, chatRequest())).toEqual({ inputTokens: 8 })
  expect(() => bedrock.countTokens!.result({}, chatRequest())).toThrow('no inputTokens')
})

describe('errors', () => {
  test.each([
    [400, { message: 'The provided model identifier is invalid.' }, 'model-not-found', undefined],
    [400, { message: 'Input is too long for requested model.' }, 'context-too-long', undefined],
    [
      400,
      { message: 'Too many input tokens. Max input tokens: 8192, request input token count: 8970 ' },
      'context-too-long',
      undefined,
    ],
    [
      400,
      { message: 'The maximum tokens you requested exceeds the model limit of 4096.' },
      'upstream-refused',
      undefined,
    ],
    [
      400,
      { __type: 'com.amazon.coral.service#ServiceQuotaExceededException', message: 'quota' },
      'upstream-rate-limited',
      'ServiceQuotaExceededException',
    ],
    [
      403,
      { message: "You don't have access to the model with the specified model ID." },
      'upstream-credentials',
      undefined,
    ],
    [
      403,
      {
        __type: 'com.amazon.coral.service#UnrecognizedClientException',
        message: 'The security token included in the request is invalid.',
      },
      'upstream-credentials',
      'UnrecognizedClientException',
    ],
    [404, { message: 'This model version has reached the end of its life.' }, 'model-not-found', undefined],
    [408, { message: 'Model timed out' }, 'upstream-timeout', undefined],
    [
      424,
      { message: 'The model returned: Input Tokens Exceeded: Number of input tokens exceeds maximum length.' },
      'context-too-long',
      undefined,
    ],
    [424, { originalStatusCode: 500, message: 'failed' }, 'upstream-failed', undefined],
    [429, { message: 'Too many tokens, please wait before trying again.' }, 'upstream-rate-limited', undefined],
    [429, { message: 'Model is not ready for inference.' }, 'upstream-overloaded', undefined],
    [500, { Message: 'oops' }, 'upstream-failed', undefined],
    [503, '<html>', 'upstream-overloaded', undefined],
    [400, { __type: 'constructor', message: 'x' }, 'upstream-refused', 'constructor'],
    [500, null, 'upstream-failed', undefined],
  ])('%i %j', (status, body, kind, code) => {
    expect(classify({ host: 'bedrock', status, body })).toMatchObject({
      kind,
      ...(code !== undefined && { code }),
    } as object)
  })

  test('a wrong signature does not show what was signed', () => {
    const message =
      'The request signature we calculated does not match. Check your key.\n\n' +
      "The Canonical String for this request should have been\n'POST\nx-amz-security-token:canary'"
    expect(classify({ host: 'bedrock', status: 403, body: { message } }).message).toBe(
      'The request signature we calculated does not match. Check your key.',
    )
  })
})

describe('configuration', () => {
  const read = (params: string, environment: Record<string, string> = {}) =>
    readSettings({
      text: `model_list:\n  - model_name: m\n    proxy_params: { model: bedrock/amazon.nova-pro-v1:0, ${params} }\n`,
      file: 'config.yaml',
      environment,
      providers,
    })
  const ok = (params: string, environment: Record<string, string> = {}) => {
    const { settings, mistakes } = read(params, environment)
    expect(mistakes).toEqual([])
    return settings!.deployments[0]!
  }
  const revealed = ({ target: { apiKey, options } }: { target: Target }) =>
    Object.fromEntries(
      [['api_key', apiKey], ...Object.entries(options)].map(([name, value]) => [
        name,
        value instanceof Secret ? `secret ${value.reveal()}` : value,
      ]),
    )
  const keys = { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_SECRET_ACCESS_KEY: 'canary-1', AWS_SESSION_TOKEN: 'canary-2' }

  test('credentials of the entry, of the environment, an API key: never a mixture', () => {
    const own = 'aws_region_name: us-east-1, aws_access_key_id: AKIA2, aws_secret_access_key: canary-3'
    expect(revealed(ok(own, { ...keys, AWS_BEARER_TOKEN_BEDROCK: 'b' }))).toEqual({
      api_key: undefined,
      aws_region_name: 'us-east-1',
      aws_access_key_id: 'AKIA2',
      aws_secret_access_key: 'secret canary-3',
    })
    expect(revealed(ok('weight: 1', { ...keys, AWS_REGION: 'eu-west-1' }))).toEqual({
      api_key: undefined,
      aws_region_name: 'eu-west-1',
      aws_access_key_id: 'AKIA1',
      aws_secret_access_key: 'secret canary-1',
      aws_session_token: 'secret canary-2',
    })
    expect(
      revealed(ok('weight: 1', { ...keys, AWS_DEFAULT_REGION: 'eu-west-1', AWS_BEARER_TOKEN_BEDROCK: 'b' })),
    ).toEqual({ api_key: 'secret b', aws_region_name: 'eu-west-1' })
    expect(
      JSON.stringify(ok(own), (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain('canary')
  })

  test('the region of an ARN or of an address comes before that of the machine', () => {
    const environment = { ...keys, AWS_REGION: 'eu-west-1' }
    const fips = 'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com'
    for (const target of [
      ok(`aws_bedrock_runtime_endpoint: "${fips}/"`, environment).target,
      ok(`api_base: "${fips}"`, environment).target,
      ok('weight: 1', { ...environment, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: fips }).target,
    ])
      expect([target.baseUrl, target.options.aws_region_name]).toEqual([fips, 'us-gov-west-1'])
    expect(ok('weight: 1', environment).target.baseUrl).toBe('https://bedrock-runtime.eu-west-1.amazonaws.com')
    const text =
      'model_list:\n  - model_name: m\n    proxy_params: ' +
      '{ model: "bedrock/arn:aws:bedrock:us-east-2:1:application-inference-profile/x" }\n'
    const { settings } = readSettings({ text, file: 'config.yaml', environment, providers })
    expect(settings!.deployments[0]!.target.options.aws_region_name).toBe('us-east-2')
  })

  test("a region in the model's name, as LiteLLM's files have it, is the deployment's, and no part of the id", () => {
    const targetOf = (model: string, more = '') => {
      const text = `model_list:\n  - model_name: m\n    proxy_params: { model: ${model}, api_key: k${more} }\n`
      return readSettings({ text, file: 'config.yaml', environment: { AWS_REGION: 'eu-west-1' }, providers })
    }
    for (const model of [
      'bedrock/us-west-2/anthropic.claude-sonnet-4-5-20250929-v1:0',
      'bedrock/converse/us-west-2/anthropic.claude-sonnet-4-5-20250929-v1:0',
    ]) {
      const { target, prices } = targetOf(model).settings!.deployments[0]!
      expect([target.model, target.options.aws_region_name, target.baseUrl, prices?.input]).toEqual([
        'anthropic.claude-sonnet-4-5-20250929-v1:0',
        'us-west-2',
        'https://bedrock-runtime.us-west-2.amazonaws.com',
        3_300_000_000n,
      ])
    }
    expect(
      targetOf('bedrock/us-west-2/amazon.nova-pro-v1:0', ', aws_region_name: us-east-1').mistakes.join(),
    ).toContain('two regions: `model` names us-west-2')
  })

  test('a new key is the same deployment', () => {
    const ids = ['1', '2'].map(
      key =>
        ok(
          `aws_region_name: us-east-1, aws_access_key_id: A${key}, ` +
            `aws_secret_access_key: s${key}, aws_session_token: t${key}`,
        ).id,
    )
    expect(ids[0]).toBe(ids[1]!)
  })

  test.each([
    ['weight: 1', {}, 'no region: give `aws_region_name`'],
    ['aws_region_name: us-east-1', { AWS_EC2_METADATA_DISABLED: 'true' }, 'no credentials: give `api_key`'],
    ['aws_region_name: us-east-1, aws_access_key_id: a', {}, 'belong together; give both'],
    ['aws_region_name: us-east-1, aws_secret_access_key: canary', {}, 'belong together; give both'],
    ['api_base: "http://a", aws_bedrock_runtime_endpoint: "http://b"', {}, 'two addresses'],
    [
      'aws_region_name: us-east-1, api_key: k, aws_access_key_id: a, aws_secret_access_key: canary',
      {},
      'two ways to sign in',
    ],
    ['aws_region_name: evil.example/x, api_key: k', {}, 'must be a region'],
    ['aws_region_name: us-east-1, aws_secret_access_key: { a: canary }', {}, 'aws_secret_access_key: must be a string'],
    ['api_key: k', { AWS_REGION: 'evil.example/x' }, 'must be one such as `us-east-1`'],
    [
      'api_key: k, aws_region_name: us-east-1',
      { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: 'ftp://x' },
      'must be an http:// or https:// address',
    ],
  ] as [string, Record<string, string>, string][])('%s is a mistake', (params, environment, words) => {
    const mistakes = read(params, environment).mistakes.join()
    expect(mistakes).toContain(words)
    expect(mistakes).not.toContain('canary')
  })

  test('without a model list: every model, once the region is known', () => {
    const names = (environment: Record<string, string>) =>
      readSettings({ environment, providers }).settings!.deployments.map(one => one.modelName)
    expect(names({ AWS_BEARER_TOKEN_BEDROCK: 'b', AWS_REGION: 'us-east-1' })).toContain('bedrock/*')
    expect(names({ AWS_BEARER_TOKEN_BEDROCK: 'b' })).not.toContain('bedrock/*')
  })
})
