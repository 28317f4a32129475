import { expect, test } from 'bun:test'
import { isLinkLocal, isLoopback, NoProxy } from './no-proxy.ts'

/** As the transport asks: the host and the port of a URL. */
function names(list: string, url: string): boolean {
  const { hostname, port, protocol } = new URL(url)
  return new NoProxy(list).names({ hostname, port: port ? Number(port) : protocol === 'https:' ? 443 : 80 })
}

const rows: [list: string, yes: string[], no: string[]][] = [
  [
    'example.com',
    ['https://example.com', 'https://EXAMPLE.com.', 'http://a.b.example.com:81'],
    ['https://notexample.com', 'https://example.com.evil.org'],
  ],
  ['.example.com', ['https://example.com', 'https://a.example.com'], ['https://aexample.com']],
  [
    '*.example.com',
    ['https://a.example.com', 'https://a.b.example.com'],
    ['https://example.com', 'https://aexample.com'],
  ],
  ['EXAMPLE.com.', ['https://example.com'], []],
  [
    'example.com:8443',
    ['https://example.com:8443', 'https://a.example.com:8443'],
    ['https://example.com', 'https://example.com:84'],
  ],
  ['example.com:443', ['https://example.com'], ['http://example.com']],
  ['*', ['https://example.com', 'http://10.1.1.1', 'http://[fd00::1]'], []],
  [
    '10.1.2.3',
    ['http://10.1.2.3', 'http://[::ffff:10.1.2.3]', 'http://0x0a010203'],
    ['http://10.1.2.30', 'http://110.1.2.3'],
  ],
  ['10.1.2.3:81', ['http://10.1.2.3:81'], ['http://10.1.2.3']],
  ['10.0.0.0/8', ['http://10.255.0.1:99'], ['http://11.0.0.1', 'http://10.example.com']],
  ['192.168.4.0/23', ['http://192.168.5.9'], ['http://192.168.6.1']],
  ['0.0.0.0/0', ['http://1.2.3.4'], ['http://example.com', 'http://[fd00::1]']],
  ['fd00::/8', ['http://[fd12::1]'], ['http://[fe00::1]', 'http://1.2.3.4']],
  ['fd00::1', ['http://[fd00:0:0::1]:81'], ['http://[fd00::2]']],
  ['[fd00::1]', ['http://[fd00::1]'], []],
  ['[fd00::1]:81', ['http://[fd00::1]:81'], ['http://[fd00::1]']],
  [
    ' a.example ,,\tb.example  c.example,',
    ['http://a.example', 'http://b.example', 'http://c.example'],
    ['http://d.example'],
  ],
  ['gpu_1', ['http://gpu_1'], ['http://gpu_2']],
  ['', [], ['http://example.com']],
]
for (const [list, yes, no] of rows)
  test(`NO_PROXY=${list}`, () => {
    expect(yes.filter(url => !names(list, url))).toEqual([])
    expect(no.filter(url => names(list, url))).toEqual([])
  })

test('what names nothing is reported, and the rest holds', () => {
  const list = new NoProxy(
    '10.0.0.0/33,a.example,http://b.example,[::1,c.example:0,c.example:99999,a..b,*.,.,d*.example,fd00::/129,10.0.0/8,*',
  )
  expect(list.unreadable).toEqual([
    '10.0.0.0/33',
    'http://b.example',
    '[::1',
    'c.example:0',
    'c.example:99999',
    'a..b',
    '*.',
    '.',
    'd*.example',
    'fd00::/129',
    '10.0.0/8',
  ])
  expect(list.names({ hostname: 'anything', port: 1 })).toBe(true)
})

test('loopback and link-local hosts are known in every spelling', () => {
  const host = (url: string) => new URL(url).hostname
  for (const url of [
    'http://localhost',
    'http://a.localhost.',
    'http://127.9.9.9',
    'http://0x7f000001',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://0.0.0.0',
  ])
    expect([url, isLoopback(host(url))]).toEqual([url, true])
  for (const url of [
    'http://localhost.example.com',
    'http://128.0.0.1',
    'http://notlocalhost',
    'http://[::2]',
    'http://127.example.com',
  ])
    expect([url, isLoopback(host(url))]).toEqual([url, false])
  for (const url of [
    'http://169.254.169.254',
    'http://metadata.google.internal',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
  ])
    expect([url, isLinkLocal(host(url))]).toEqual([url, true])
  for (const url of ['http://169.255.0.1', 'http://metadata.google.internal.example.com', 'http://[fd00::1]'])
    expect([url, isLinkLocal(host(url))]).toEqual([url, false])
})
