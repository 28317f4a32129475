import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'

/**
 * For a form of what is stored under a version. `version` is that of its opening, so that a change by another person is
 * not overwritten unseen. Once the gateway has refused it for that (409, which the form shows), what is stored is read
 * again, and the next press is for the version then: what was typed stays. `onError` is that of the mutation.
 */
export function useReadVersion<Version extends number | null | undefined>(stored: Version, queryKey: string) {
  const client = useQueryClient()
  const [opened, setOpened] = useState<Version | undefined>(stored)
  const onError = (error: Error) => {
    if (!(error instanceof ApiError) || error.status !== 409) return
    setOpened(undefined)
    void client.invalidateQueries({ queryKey: [queryKey] })
  }
  return { version: opened ?? stored, onError }
}
