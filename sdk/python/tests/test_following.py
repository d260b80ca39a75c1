"""C1, G7: keys and kill generation are followed; what cannot be known is a no."""

import asyncio
import time
import unittest

from counterfoil_sdk.capability import CapabilityRefusal

from .test_capability import guard, presented, slip
from .world import KEY, STRANGER, Gateway, jwk, key_set


class Following(unittest.IsolatedAsyncioTestCase):
    async def refused(self, one, params, code):
        with self.assertRaises(CapabilityRefusal) as caught:
            await one.admit(params)
        self.assertEqual(caught.exception.code, code)

    def setUp(self):
        self.world = Gateway()
        self.addCleanup(self.world.close)
        self.skew = 0

    def now(self):
        return time.time() + self.skew

    async def test_the_generation_is_followed_and_its_silence_is_a_no(self):
        one = guard(keys=None, gateway=self.world.address, generation="follow", now=self.now)
        await one.admit(presented(slip()))

        self.world.gen, self.skew = 4, 3
        await self.refused(one, presented(slip()), "capability_killed")
        await one.admit(presented(slip(gen=4)))

        self.world.is_silent, self.skew = True, 23
        late = int(self.now())
        fresh = slip(gen=4, iat=late, nbf=late - 5, exp=late + 30)
        await self.refused(one, presented(fresh), "capability_generation")

    async def test_the_first_calls_wait_for_one_key_set_and_one_generation_together(self):
        one = guard(keys=None, gateway=self.world.address, generation="follow")
        await asyncio.gather(*(one.admit(presented(slip())) for _ in range(20)))
        self.assertEqual(self.world.asked, 1)

    async def test_an_unknown_key_causes_one_fetch_and_an_absent_key_set_a_refusal(self):
        one = guard(keys=None, gateway=self.world.address, now=self.now)
        await one.admit(presented(slip()))
        for _ in range(20):
            await self.refused(one, presented(slip(signing={"key": STRANGER})), "capability_key")
        self.assertLessEqual(self.world.asked, 2)

        self.skew = 11
        self.world.keys = key_set(jwk(KEY, "capability"), jwk(STRANGER, "capability"))
        await one.admit(presented(slip(signing={"key": STRANGER})))

        await self.refused(guard(keys="/nowhere/jwks.json"), presented(slip()), "capability_keys")
