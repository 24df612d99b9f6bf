#!/bin/bash
# Says what a training run on CartPole would say: random lengths, 1 of return a step.
# @description: lengths out of a hat
# @env_family: classic_control
# @total_timesteps: 1000
RANDOM=$MOSAIC_SEED
steps=0

save() {
    echo "$steps" > "checkpoints/step-$steps.txt"
    echo "mosaic: checkpoint checkpoints/step-$steps.txt"
    exit 0
}
trap save TERM

length=$((RANDOM % 50 + 10))
while [ $((steps + length)) -le "$MOSAIC_TOTAL_TIMESTEPS" ]; do
    steps=$((steps + length))
    echo "mosaic: steps $steps"
    echo "mosaic: episode return=$length length=$length"
    length=$((RANDOM % 50 + 10))
    sleep 0.001
done
