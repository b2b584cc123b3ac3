# system
