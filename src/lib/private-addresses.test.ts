import { expect, test } from 'bun:test'
import { withoutPrivateAddresses } from './private-addresses.ts'

const shown = (text: string, own?: string) => withoutPrivateAddresses(text, own)

test.each([
  ['cannot reach http://10.1.2.3:8000/v1/models.', 'cannot reach [address].'],
  ['see "http://vllm-7b.default.svc.cluster.local:8000/health"', 'see "[address]"'],
  ['proxy http://user:pw@router:4000 refused', 'proxy [address] refused'],
  ['redis://192.168.4.5:6379/0 timed out', '[address] timed out'],
  ['connect 172.31.0.9:443, then 100.64.1.1', 'connect [address], then [address]'],
  ['dial tcp [fd00::12]:8000 and fe80::1 and ::1', 'dial tcp [address] and [address] and [address]'],
  ['host gpu-3.internal failed; gpu-4.lan:80 too', 'host [address] failed; [address] too'],
  ['http://localhost/x and localhost:9', '[address] and [address]'],
  ['metadata at 169.254.169.254', 'metadata at [address]'],
])('%s', (text, clean) => expect(shown(text)).toBe(clean))

test('the host of the upstream is hidden, by name and port, also where it is public or a single word', () => {
  expect(
    shown('https://my-gpu.example.com:8443/v1/chat: bad (my-gpu.example.com:8443)', 'my-gpu.example.com:8443'),
  ).toBe('[address]: bad ([address])')
  expect(shown('vllm:8000 says that vllm has no such model', 'vllm:8000')).toBe(
    '[address] says that vllm has no such model',
  )
})

test('what clients need stays: public links, versions, times, places in their request, model names', () => {
  for (const text of [
    'Incorrect API key: you can find yours at https://platform.openai.com/account/api-keys.',
    'version 1.2.3 of 2026-11-23 10:30:05, at 12:30, line 3:14, ratio 16:9, messages.0.content, e.g. this',
    "`model` must be one of gpt-4.1-mini, llama3.1:8b, qwen2.5:7b; got 'x'",
    'image at https://203.0.113.9/x.png and 8.8.8.8',
    'function std::vector, a::b, Foo::bar, sha256:abcdef, tool_calls.function.name',
  ])
    expect(shown(text, 'api.upstream.example')).toBe(text)
})

test('texts made to be slow are not', () => {
  for (const piece of ['a.', '1.', ':', 'a:', 'http://', '[', '1.1.1.1.', 'a-'])
    expect(shown(piece.repeat(4000 / piece.length)).length).toBeGreaterThan(0)
})
