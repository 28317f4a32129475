import { expect, test } from 'bun:test'
import { isPublicAddress } from './public-address.ts'

test('addresses of the internet are public', () => {
  for (const one of ['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '172.15.0.1', '100.128.0.1'])
    expect([one, isPublicAddress(one)]).toEqual([one, true])
})

test('no other address is', () => {
  for (const one of [
    '127.0.0.1',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.31.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '0.0.0.0',
    '::',
    '::1',
    'fe80::1',
    'fd00:ec2::254',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '2002:a00:1::1',
    '2001:db8::1',
    'localhost',
    '',
    '0x7f.1',
  ])
    expect([one, isPublicAddress(one)]).toEqual([one, false])
})
