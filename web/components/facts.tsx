import type { ReactNode } from 'react'

export interface Fact {
  readonly name: string
  readonly value: ReactNode
}

/** Names and values of one thing, below each other: the content of a drawer. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="flex flex-col">
      {facts.map(({ name, value }) => (
        <div key={name} className="flex min-w-0 flex-wrap justify-between gap-x-4 border-b border-line py-2">
          <dt className="text-muted">{name}</dt>
          <dd dir="auto" className="min-w-0 break-words">
            {value}
          </dd>
        </div>
      ))}
    </dl>
  )
}
